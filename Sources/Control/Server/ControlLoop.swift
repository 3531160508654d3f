import CLinux
import Console
import Glibc
import PRSNLCore

/// The control socket's thread. poll(2) and not epoll(7): there are a handful of descriptors, and they change.
struct ControlLoop {
    private let start: ControlServer.Start
    private var connections: [UInt64: ControlConnection] = [:]
    private let policy: PeerPolicy
    private var lastNumber: UInt64 = 0
    /// After accept has failed for want of descriptors, so that the loop does not spin.
    private var acceptAgainAt: Int64?

    /// In one round, so that a flood of connections does not keep the clients from being served.
    private static let mostAcceptedAtOnce = 32

    init(_ start: ControlServer.Start) {
        self.start = start
        policy = PeerPolicy(owner: geteuid(), group: start.socket.group)
    }

    mutating func run() {
        var isStopping = false
        while !isStopping {
            let numbers = connections.keys.sorted()
            var descriptors = [
                pollfd(fd: start.mailbox.wakeup.descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: acceptAgainAt == nil ? start.socket.descriptor : -1, events: Int16(POLLIN), revents: 0),
            ]
            descriptors += numbers.compactMap { connections[$0] }.map { connection in
                let events = (connection.wantsToRead ? POLLIN : 0) | (connection.wantsToWrite ? POLLOUT : 0)
                return pollfd(fd: connection.descriptor, events: Int16(events), revents: 0)
            }
            start.mailbox.heartbeat.rest(atMost: nil)
            // A failure is EINTR or want of memory: the next round asks again either way.
            if poll(&descriptors, nfds_t(descriptors.count), timeout()) < 0 { continue }
            start.mailbox.heartbeat.wake()
            if descriptors[0].revents != 0 { isStopping = readMailbox() }
            for (number, descriptor) in zip(numbers, descriptors.dropFirst(2)) where descriptor.revents != 0 {
                serve(number, events: Int32(descriptor.revents))
            }
            if descriptors[1].revents != 0, !isStopping { acceptClients() }
            closeIdle()
        }
        for number in connections.keys { drop(number) }
        start.socket.remove()
        start.mailbox.heartbeat.end()
    }

    // MARK: Time

    private static func milliseconds() -> Int64 { TimeSource.nanoseconds() / 1_000_000 }

    /// Without idle clients there is nothing to wake up for.
    private func timeout() -> Int32 {
        let deadlines = connections.values.filter { $0.task == nil }.map(\.deadline)
        guard let next = (deadlines + [acceptAgainAt].compactMap(\.self)).min() else { return -1 }
        return Int32(clamping: max(0, next - Self.milliseconds() + 1))
    }

    private mutating func closeIdle() {
        guard !connections.isEmpty || acceptAgainAt != nil else { return }
        let now = Self.milliseconds()
        for (number, connection) in connections where connection.task == nil && connection.deadline <= now {
            drop(number)
        }
        if let again = acceptAgainAt, again <= now { acceptAgainAt = nil }
    }

    private func idleDeadline() -> Int64 { Self.milliseconds() + start.limits.idleTime.wholeMilliseconds }

    // MARK: Clients

    private mutating func acceptClients() {
        for _ in 0..<Self.mostAcceptedAtOnce {
            let descriptor = prsnl_accept(start.socket.descriptor)
            if descriptor < 0 {
                if errno == EINTR || errno == ECONNABORTED { continue }
                if errno != EAGAIN {
                    start.log(.warning, .control, "accept: \(String(cString: strerror(errno)))")
                    acceptAgainAt = Self.milliseconds() + 1_000
                }
                return
            }
            welcome(descriptor)
        }
    }

    private mutating func welcome(_ descriptor: Int32) {
        // A peer that the kernel does not name has no rights.
        let peer = Peer(descriptor: descriptor) ?? Peer(user: PeerPolicy.unknownUser, groups: [])
        let standing = policy.standing(of: peer)
        let served = connections.values.filter { !$0.isClosing }
        let isAdmitted = ClientQuota.admits(
            standing, ofUser: served.count { $0.peer.user == peer.user }, inAll: served.count, limits: start.limits)
        let connection = ControlConnection(
            descriptor: descriptor, peer: peer, standing: standing, mayChange: mayChange(standing),
            limits: start.limits, deadline: idleDeadline())
        lastNumber += 1
        connections[lastNumber] = connection
        if standing == .stranger {
            start.log(.debug, .control, "refused user \(peer.user), process \(peer.process)")
            refuse(lastNumber, Self.strangersError)
        } else if !isAdmitted {
            refuse(lastNumber, UserFacingError(.daemonBusy, "The daemon serves \(served.count) clients already."))
        }
    }

    private mutating func serve(_ number: UInt64, events: Int32) {
        guard let connection = connections[number] else { return }
        connection.mayChange = mayChange(connection.standing)
        if events & POLLIN != 0, connection.wantsToRead, !connection.receive() { return drop(number) }
        startRequest(number)
        if events & POLLOUT != 0, !connection.flush() { return drop(number) }
        // Both directions are closed. What came before has been read above, so a request whose sender does not wait for its
        // answer is started too.
        if events & (POLLHUP | POLLERR | POLLNVAL) != 0 { return drop(number) }
        if connection.isFinished { drop(number) }
    }

    private mutating func startRequest(_ number: UInt64) {
        while let connection = connections[number], connection.isReady {
            switch connection.nextInput() {
            case .nothing: return
            case .tooLong: refuseLongLine(number, connection)
            case .line(let bytes): begin(bytes, number, connection)
            }
        }
    }

    private mutating func begin(_ bytes: [UInt8], _ number: UInt64, _ connection: ControlConnection) {
        let read: RequestTable.Read
        do throws(RequestRefusal) {
            read = try start.requests.read(bytes)
        } catch {
            start.log(.debug, .control, "refused an invalid request of \(bytes.count) bytes")
            let refusal = UserFacingError(
                .controlProtocol, "This is not a request: \(error.reason).",
                recoverySuggestion: "Send one JSON object per line, such as {\"command\":\"status\"}.")
            return send(refusal, to: number)
        }
        // Asked again for each request: `group_may_write` may have changed since the client came.
        guard !read.request.isChange || mayChange(connection.standing) else {
            start.log(.debug, .control, "refused a change by user \(connection.peer.user)")
            return send(Self.changeError, to: number)
        }
        HangPoint.control.block()
        let conversation = ControlConversation(connection: number, mailbox: start.mailbox)
        connection.task = Task(executorPreference: TaskLoop.current) {
            await read.answer(conversation)
            conversation.mailbox.post(.handled(number))
        }
    }

    // MARK: Rights

    private func mayChange(_ standing: PeerPolicy.Standing) -> Bool {
        PeerPolicy.mayChange(standing, groupMayWrite: start.groupRight.mayWrite)
    }

    private static let strangersError = UserFacingError(
        .controlRefused, "This user is neither root, nor the daemon's user, nor a member of the control socket's group."
    )

    private static let changeError = UserFacingError(
        .controlRefused, "Members of the control socket's group may look, and not change anything.",
        consequence: "Nothing was changed.",
        recoverySuggestion:
            "Give the command as root or as the daemon's user, or let root set group_may_write = yes in the daemon's "
            + "configuration and reload it.")

    private mutating func refuseLongLine(_ number: UInt64, _ connection: ControlConnection) {
        if !connection.mayChange, connection.beginsAsWrite { return refuse(number, Self.changeError) }
        refuse(
            number,
            UserFacingError(
                .controlProtocol,
                "A request may have \(start.limits.requestSize) bytes, a write \(start.limits.writeSize).",
                recoverySuggestion: "Send one JSON object per line."))
    }

    /// An error, then the end.
    private mutating func refuse(_ number: UInt64, _ error: UserFacingError) {
        connections[number]?.isClosing = true
        send(error, to: number)
    }

    private mutating func send(_ error: UserFacingError, to number: UInt64) {
        send({ try JSONOutput.line(ReplyLine(reply: error)) }, to: number)
    }

    private mutating func send(_ line: () throws -> [UInt8], to number: UInt64) {
        guard let connection = connections[number] else { return }
        do {
            guard connection.queue(try line()), connection.flush() else { return drop(number) }
        } catch {
            start.log(.error, .control, "a reply could not be written as JSON: \(error)")
            return drop(number)
        }
        if connection.isFinished { drop(number) }
    }

    private mutating func drop(_ number: UInt64) {
        guard let connection = connections.removeValue(forKey: number) else { return }
        connection.task?.cancel()
        close(connection.descriptor)
    }

    // MARK: Messages

    /// Whether to stop.
    private mutating func readMailbox() -> Bool {
        for message in start.mailbox.take() {
            switch message {
            case .stop: return true
            case .reply(let number, let line): send(line, to: number)
            case .handled(let number):
                guard let connection = connections[number] else { continue }
                connection.task = nil
                connection.deadline = idleDeadline()
                startRequest(number)
                if connection.isFinished { drop(number) }
            }
        }
        return false
    }
}
