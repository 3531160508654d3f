import CLinux
import Glibc
import PRSNLCore

/// A PRSNL server, for development, tests, the demo and benchmarks.
///
/// One thread serves all connections. All data may be read and changed from any thread while it does.
package final class DevServer: Sendable {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// The port that is really listened on.
    package let port: UInt16
    package let configuration: Configuration
    let shared: SharedState
    private let thread: ServerThread

    /// Starts to listen and serve.
    ///
    /// - Throws: `Failure` when the port cannot be had.
    package static func start(_ configuration: Configuration = Configuration(), items: [DevItem] = []) throws
        -> DevServer
    {
        try DevServer(configuration, items: items)
    }

    private init(_ configuration: Configuration, items: [DevItem]) throws {
        self.configuration = configuration
        let listener = try Listener(address: configuration.address, port: configuration.port)
        port = listener.port
        let wakeUp = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
        guard wakeUp >= 0 else { throw Failure(description: "eventfd: errno \(errno)") }
        shared = SharedState(
            try ServerState(configuration: configuration, journaling: items), wakeUp: wakeUp)
        thread = try ServerThread(shared: shared, listener: listener, wakeUp: wakeUp)
    }

    deinit {
        stop()
    }

    /// "http://127.0.0.1:PORT", with the path prefix.
    package var url: String {
        let host = configuration.address.contains(":") ? "[\(configuration.address)]" : configuration.address
        return "http://\(host):\(port)\(configuration.pathPrefix)"
    }

    /// Closes every connection and the port, and waits for the thread. The data can still be read. Not from within a
    /// fault.
    package func stop() {
        shared.send(.stop)
        thread.join()
    }

    /// Closes the port and every connection: the next connect is refused. The data stays. Done when it returns.
    package func refuseConnections() { shared.sendAndWait(.refuseConnections) }

    /// Listens again, on the same port and in the network of the calling thread, after `refuseConnections`.
    ///
    /// - Throws: `Failure` when another program took the port in between.
    package func acceptConnections() throws {
        shared.sendAndWait(.acceptConnections(try Listener(address: configuration.address, port: port)))
    }

    /// Closes every connection, also in the middle of an answer. Done when it returns.
    package func closeConnections() { shared.sendAndWait(.closeConnections) }
}
