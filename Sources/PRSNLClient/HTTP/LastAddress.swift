import Glibc
import Synchronization

/// The address that the newest connection leads to, as libcurl tells it before each request.
final class LastAddress: Sendable {
    private let text = Mutex<String?>(nil)

    var current: String? { text.withLock { $0 } }

    /// Called for every request: it allocates nothing while the address stays the same.
    func note(_ address: UnsafePointer<CChar>) {
        guard address.pointee != 0 else { return }
        text.withLock { text in
            if let known = text, strcmp(known, address) == 0 { return }
            text = String(cString: address)
        }
    }
}
