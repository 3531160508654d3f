import Synchronization

/// Runs a task and waits for its end. Only for the main thread, which nothing else needs here.
package func blocking<Value: Sendable>(
    _ body: @escaping @Sendable () async throws(UserFacingError) -> Value
) throws(UserFacingError) -> Value {
    let outcome = Outcome<Result<Value, UserFacingError>>()
    Task.detached(executorPreference: TaskLoop.start()) {
        do throws(UserFacingError) {
            outcome.set(.success(try await body()))
        } catch {
            outcome.set(.failure(error))
        }
    }
    guard let result = outcome.wait() else {
        throw UserFacingError(.storeBug, "The work on the file ended without a result.")
    }
    return try result.get()
}

/// A value that one other thread waits for, once.
package final class Outcome<Value: Sendable>: Sendable {
    private let value = Mutex<Value?>(nil)
    private let wakeup = ThreadWakeup()

    package init() {}

    package func set(_ value: Value) {
        self.value.withLock { $0 = value }
        wakeup.signal()
    }

    /// - Parameter limit: `nil` waits without end.
    /// - Returns: `nil` where there is none in that time.
    package func wait(atMost limit: Duration? = nil) -> Value? {
        wakeup.wait(atMost: limit)
        return value.withLock { $0 }
    }
}
