import Glibc
import PRSNLCore
import Synchronization

/// Why a name cannot be resolved: libcurl keeps the resolver's reason to itself, so the resolver is asked once more.
enum NameCheck {
    /// - Returns: `unresolved` where the name has an address by now, or where the task was cancelled.
    static func fault(of host: String, within limit: Duration) async -> ConnectionFault.NameFault {
        let wakeup = ThreadWakeup()
        return await withTaskCancellationHandler {
            do throws(UserFacingError) {
                // One thread waits for the other: getaddrinfo(3) cannot be told to stop.
                return try await WorkerThread.result(of: "prsnl-name") { ask(host, wakeup, within: limit) }
            } catch {
                return .unresolved
            }
        } onCancel: {
            wakeup.signal()
        }
    }

    private static func ask(
        _ host: String, _ wakeup: ThreadWakeup, within limit: Duration
    ) -> ConnectionFault.NameFault {
        let answer = Answer()
        do throws(UserFacingError) {
            _ = try WorkerThread(name: "prsnl-resolve") {
                var list: UnsafeMutablePointer<addrinfo>?
                var hints = addrinfo()
                hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
                let code = getaddrinfo(host, nil, &hints, &list)
                if let list { freeaddrinfo(list) }
                answer.code.withLock { $0 = code }
                wakeup.signal()
            }
        } catch {
            return .unresolved
        }
        guard wakeup.wait(atMost: limit) else { return .unanswered(within: limit) }
        switch answer.code.withLock(\.self) {
        case EAI_AGAIN?: return .unanswered(within: nil)
        case EAI_NONAME?, noData?: return .unknown
        default: return .unresolved
        }
    }

    /// EAI_NODATA of netdb.h, which Swift does not see: a name without an address.
    private static let noData: Int32 = -5

    private final class Answer: Sendable {
        let code = Mutex<Int32?>(nil)
    }
}
