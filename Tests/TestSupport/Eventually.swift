package import PRSNLCore

/// What `eventually` waited for in vain.
package struct WaitedInVain: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}

/// How long to wait for what must happen: far longer than it ever takes, because it only bounds a failing test.
package let generousDeadline: Duration = .seconds(60)

/// Asks again and again until the answer is not `nil`.
///
/// - Parameter what: for the error: "the daemon to listen".
package func eventually<Value: Sendable>(
    _ what: String, within deadline: Duration = generousDeadline, _ condition: () async throws -> Value?
) async throws -> Value {
    let clock = ContinuousClock()
    let end = clock.now + deadline
    var pause = Duration.milliseconds(1)
    while true {
        if let value = try await condition() { return value }
        guard clock.now < end else { throw WaitedInVain("waited \(deadline) for \(what)") }
        try await Task.sleep(for: pause)
        pause = min(pause * 2, .milliseconds(20))
    }
}

/// Asks again and again until the answer is yes.
package func eventually(
    _ what: String, within deadline: Duration = generousDeadline, _ condition: () async throws -> Bool
) async throws {
    _ = try await eventually(what, within: deadline) { () async throws -> Void? in try await condition() ? () : nil }
}

/// The error of this type that the body throws; `nil` when it throws nothing, or another one. `#expect(throws:)` returns it
/// since Swift 6.1 only.
package func thrown<Failure: Error, Value>(_ type: Failure.Type, _ body: () throws -> Value) -> Failure? {
    do {
        _ = try body()
        return nil
    } catch {
        return error as? Failure
    }
}

/// The code of the `UserFacingError` that the body throws; `nil` when it throws nothing. Other errors are rethrown.
package func errorCode(_ body: () throws -> Void) throws -> ErrorCode? {
    do {
        try body()
        return nil
    } catch let error as any UserFacing {
        return error.userFacing.code
    }
}

/// The same for asynchronous bodies.
package func errorCode(_ body: () async throws -> Void) async throws -> ErrorCode? {
    do {
        try await body()
        return nil
    } catch let error as any UserFacing {
        return error.userFacing.code
    }
}
