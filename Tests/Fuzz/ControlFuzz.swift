import PRSNLCore

@testable import Console
@testable import Control

/// What the control socket is told, and what prsnlctl reads from its standard input.
extension FuzzTarget {
    static let request = FuzzTarget(name: "request") { bytes in
        do throws(ControlRequest.Refusal) {
            let request = try ControlRequest(line: bytes)
            checkWrittenAgain(request)
            if case .write(let writes, _) = request { writes.map(\.draft).forEach(check) }
        } catch {
            check(error.reason)
        }
    }

    static let capture = FuzzTarget(name: "capture") { bytes in
        switch CaptureLine(bytes, isFirst: true) {
        case .blank: break
        case .item(let item): check(.create(item))
        case .refused(let error):
            require(error.code == .writeInvalid, "refused as \(error.code)")
            check(error.message)
        }
    }

    /// A request that was read and is written reads the same, byte by byte.
    private static func checkWrittenAgain(_ request: ControlRequest) {
        do throws(ControlRequest.Refusal) {
            let again = try ControlRequest(line: request.line)
            require(again == request && again.line == request.line, "reads as another: \(request) \(again)")
        } catch {
            fatalError("cannot be read again: \(error.reason) \(request)")
        }
    }

    /// What is accepted stays as it is when it is checked again, and its body is JSON.
    private static func check(_ draft: WriteDraft) {
        checkWrittenAgain(.write([WriteRequest(draft)], isBrief: false))
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
