import Formats
import PRSNLCore
import Store

@testable import Commands
@testable import Console
@testable import Control
@testable import Requests

/// What the control socket is told, and what prsnlctl reads from its standard input.
extension FuzzTarget {
    /// A request of each kind that reads what may be long or strange. The others have no members, or switches alone.
    private static let table: RequestTable = {
        var table = RequestTable()
        func ignore<Request: ControlRequest>(_ type: Request.Type) { table.on(type) { _, _ in } }
        ignore(WritesRequest.self)
        ignore(TallyRequest.self)
        ignore(QueueRequest.self)
        ignore(EntryRequest.self)
        ignore(RetryRequest.self)
        ignore(DropRequest.self)
        ignore(DeliveryRequest.self)
        ignore(SyncNowRequest.self)
        ignore(LoginCheckRequest.self)
        ignore(LoginRequest.self)
        ignore(AccountRequest.self)
        ignore(StatusRequest.self)
        return table
    }()

    static let request = FuzzTarget(name: "request") { bytes in
        do throws(RequestRefusal) {
            let request = try table.read(bytes).request
            checkWrittenAgain(request)
            let writes = (request as? WritesRequest)?.writes ?? (request as? TallyRequest)?.writes ?? []
            writes.map(\.draft).forEach(check)
        } catch {
            check(error.reason)
        }
    }

    static let capture = FuzzTarget(name: "capture") { bytes in
        do throws(UserFacingError) {
            if let item = try CaptureLine.item(bytes, isFirst: true) { check(.create(item)) }
        } catch {
            require(error.code == .writeInvalid, "refused as \(error.code)")
            check(error.message)
        }
    }

    /// A request that was read and is written reads the same, byte by byte.
    private static func checkWrittenAgain<Request: ControlRequest>(_ request: Request) {
        do throws(RequestRefusal) {
            let again = try table.read(request.line).request
            require(
                again as? Request == request && again.line == request.line, "reads as another: \(request) \(again)")
        } catch {
            fatalError("cannot be read again: \(error.reason) \(request)")
        }
    }

    /// What is accepted stays as it is when it is checked again, and its body is JSON.
    private static func check(_ draft: WriteDraft) {
        checkWrittenAgain(WritesRequest([WriteRequest(draft)]))
        for dialect in [Dialect.cursor, .page, .express, nil] {
            do throws(UserFacingError) {
                let checked = try draft.checked(dialect: dialect)
                require(try checked.checked(dialect: dialect) == checked, "checked again, it is another: \(checked)")
                check(bodyOf: checked, dialect ?? .cursor)
            } catch {
                require(error.code == .writeInvalid, "refused as \(error.code)")
                check(error.message)
            }
        }
    }

    private static func check(bodyOf draft: WriteDraft, _ dialect: Dialect) {
        switch draft {
        case .create(let item): check(body: WriteBody.create(item, dialect: dialect))
        case .edit(_, let edit): check(body: WriteBody.update(edit))
        case .delete: break
        }
    }

    private static func check(body: [UInt8]) {
        require(JSONChecks.isWellFormed(body), "a body that is no JSON: \(String(decoding: body, as: UTF8.self))")
    }

    /// A reason is for a terminal.
    private static func check(_ reason: String) {
        require(!reason.isEmpty, "refused without a reason")
        require(SafeText.harmless(reason) == reason, "not fit for a terminal: \(reason)")
        require(reason.utf8.count <= 4_096, "\(reason.utf8.count) bytes of a reason")
    }
}
