import CLinux
import Glibc
import PRSNLCore
import Synchronization

/// Runs a task and waits for its end. Only for the main thread, which nothing else needs here.
func blocking<Value: Sendable>(
    _ body: @escaping @Sendable () async throws(UserFacingError) -> Value
) throws(UserFacingError) -> Value {
    try checkDescriptors()
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

/// Tasks run on libdispatch here, which ends the process with a trap where it finds no descriptor for itself.
private func checkDescriptors() throws(UserFacingError) {
    var taken: [Int32] = []
    defer { for descriptor in taken { close(descriptor) } }
    for _ in 0..<12 {
        let descriptor = prsnl_open("/dev/null", O_RDONLY | O_CLOEXEC, 0)
        guard descriptor >= 0 else {
            guard errno == EMFILE || errno == ENFILE else { return }
            throw UserFacingError(.limitReached, "prsnlctl may not open as many files as it needs.")
        }
        taken.append(descriptor)
    }
}

/// A value that another thread waits for.
private final class Outcome<Value: Sendable>: Sendable {
    private let result = Mutex<Result<Value, UserFacingError>?>(nil)
    private let wakeup = ThreadWakeup()

    func set(_ value: Result<Value, UserFacingError>) {
        result.withLock { $0 = value }
        wakeup.signal()
    }

    func wait() -> Result<Value, UserFacingError> {
        wakeup.wait()
        return result.withLock { $0 }
            ?? .failure(UserFacingError(.storeBug, "The work on the file ended without a result."))
    }
}
