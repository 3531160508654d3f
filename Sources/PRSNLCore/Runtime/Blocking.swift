import Synchronization

/// Runs a task and waits for its end. Only for the main thread, which nothing else needs here.
package func blocking<Value: Sendable>(
    _ body: @escaping @Sendable () async throws(UserFacingError) -> Value
) throws(UserFacingError) -> Value {
    _ = try tasks.get()
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

/// What tasks run on, made with the first of them. Swift's own pool stands on libdispatch, which ends the process with a trap
/// where it finds no descriptor for itself, and has a complaint in the system's log each time that it may not raise a priority.
private let tasks = Result { () throws(UserFacingError) in try TaskLoop.install() }

/// For what waits in tasks.
package func taskTime() throws(UserFacingError) -> TimeSource { try tasks.get().time }

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
