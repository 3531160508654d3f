import Glibc
import PRSNLCore
import Synchronization

/// Runs a task and waits for its end. Only for the main thread, which nothing else needs here.
func blocking<Value: Sendable>(
    _ body: @escaping @Sendable () async throws(UserFacingError) -> Value
) throws(UserFacingError) -> Value {
    let outcome = Outcome<Value>()
    Task.detached {
        do throws(UserFacingError) {
            outcome.set(.success(try await body()))
        } catch {
            outcome.set(.failure(error))
        }
    }
    return try outcome.wait().get()
}

/// A value that another thread waits for.
private final class Outcome<Value: Sendable>: Sendable {
    private let result = Mutex<Result<Value, UserFacingError>?>(nil)
    /// An anonymous pipe(2): readable, at its end, when the value is there.
    private let ends: (read: Int32, write: Int32)

    init() {
        var pair: [Int32] = [-1, -1]
        precondition(pipe(&pair) == 0, "pipe: errno \(errno)")
        ends = (pair[0], pair[1])
    }

    deinit { close(ends.read) }

    func set(_ value: Result<Value, UserFacingError>) {
        result.withLock { $0 = value }
        close(ends.write)
    }

    func wait() -> Result<Value, UserFacingError> {
        var byte: UInt8 = 0
        while read(ends.read, &byte, 1) < 0 && errno == EINTR {}
        return result.withLock { $0 }
            ?? .failure(UserFacingError(.storeBug, "The work on the file ended without a result."))
    }
}
