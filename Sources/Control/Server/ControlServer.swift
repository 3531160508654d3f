package import PRSNLCore

/// The daemon's end of the control socket: one thread that sleeps in poll(2) and costs nothing while there are no requests.
///
/// JSON lines, one request per line, answered in order. Whatever a client sends concerns only that client.
package final class ControlServer: Sendable {
    package struct Limits: Sendable {
        /// Some of them wait for deliveries, which may take all night.
        package var clients = 128
        /// Of these, the places that are kept for root and the daemon's own user.
        package var reserved = 16
        /// For one member of the socket's group.
        package var clientsPerUser = 64
        /// Bytes of a request line.
        package var requestSize = 64 << 10
        /// Bytes of a request line that begins as a `write`. More than the longest note takes, and bounded, so that 32
        /// clients cannot fill the memory.
        package var writeSize = 2 << 20
        /// How long a client may be connected without a request under way. A line that is not whole by then counts as none.
        package var idleTime: Duration = .seconds(60)

        package init() {}
    }

    private let mailbox: ControlMailbox
    private let thread: WorkerThread

    /// Makes the socket (mode 0660) and starts to answer root, this process's user and the members of the socket's group.
    ///
    /// - Parameter groupRight: whether these may change things, or only look.
    /// - Throws: `control_socket_taken` when a live program listens there, `control_socket_failed`, `limit_reached`.
    package init(
        path: String, limits: Limits = Limits(), groupRight: GroupRight = GroupRight(),
        log: @escaping LogHandler = { _, _, _ in }, requests: RequestTable
    ) throws(UserFacingError) {
        let mailbox = try ControlMailbox()
        let socket = try ListeningSocket(path: path, backlog: Int32(limits.clients))
        self.mailbox = mailbox
        let start = Start(
            socket: socket, mailbox: mailbox, limits: limits, groupRight: groupRight, log: log, requests: requests)
        thread = WorkerThread(name: "prsnl-control") {
            var loop = ControlLoop(start)
            loop.run()
        }
    }

    deinit { stop() }

    /// Of its thread.
    package var heartbeat: Heartbeat { mailbox.heartbeat }

    /// Cancels what is being answered, closes every connection, removes the socket. Returns when it is done, which takes a
    /// moment at most; at once the second time.
    package func stop() {
        mailbox.post(.stop)
        thread.join()
    }

    struct Start: Sendable {
        let socket: ListeningSocket
        let mailbox: ControlMailbox
        let limits: Limits
        let groupRight: GroupRight
        let log: LogHandler
        let requests: RequestTable
    }
}
