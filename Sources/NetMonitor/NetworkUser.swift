package import PRSNLCore

/// What uses the network, asks the server, and is told of changes: at once, on the task where they came up.
package protocol NetworkUser: AnyObject, Sendable {
    /// Asks the server once.
    ///
    /// - Throws: what went wrong, `cancelled` where it was stopped.
    func probe() async throws(NetMonitor.Failure)
    /// The address that the newest connection used; `nil` where there was none.
    var lastAddress: String? { get }
    /// No request may go on, or may again.
    func setOffline(_ isOffline: Bool)
    /// - Parameter isReturn: The server is back after it was away, so what failed for that may be tried at once.
    func connectivityChanged(from old: Connectivity, isReturn: Bool)
    /// The clock was set, or the machine was asleep.
    func clockStepped()
    /// Keeps transitions; called on the task of `run`.
    func save(_ transitions: [ConnectivityTransition]) async
}
