import Synchronization

/// Runs a task and waits for its end. Only for the main thread, which nothing else needs here.
package func blocking<Value: Sendable>(
    _ body: @escaping @Sendable () async throws(UserFacingError) -> Value
) throws(UserFacingError) -> Value {
    let outcome = Outcome<Value>()
    Task.detached(executorPreference: TaskLoop.start()) {
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
