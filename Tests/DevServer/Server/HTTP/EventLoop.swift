import CLinux
import Glibc
import PRSNLCore

/// Serves all connections, on one thread: epoll(7), level-triggered, asleep when there is nothing to do.
final class EventLoop {
    let shared: SharedState
    let parser: HTTPRequestParser
    let serverName: String
    private let epoll: Int32
    private let wakeUp: Int32
    private var listener: Int32
    var connections: [Int32: Connection] = [:]
    private var connectionCount = 0
    private let idleTimeout: Duration?
    private var isStopped = false
    private let clock = ContinuousClock()

    /// Scratch space, kept between requests.
    private var readBuffer = [UInt8](repeating: 0, count: 65_536)
    var response = HTTPResponse()
    private var dateText = ""
    private var dateSecond: Int64 = -1

    init(shared: SharedState, listener: Listener, wakeUp: Int32) {
        self.shared = shared
        self.listener = listener.socket
        self.wakeUp = wakeUp
        let configuration = shared.state.withLock { $0.configuration }
        parser = HTTPRequestParser(pathPrefix: configuration.pathPrefix)
        idleTimeout = configuration.idleTimeout
        serverName = configuration.dialect == .express ? "prsnl-devserver/express" : "uvicorn"
        epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        watch(wakeUp, events: EPOLLIN.rawValue, adding: true)
        watch(self.listener, events: EPOLLIN.rawValue, adding: true)
    }

    func run() {
        var events = [epoll_event](repeating: epoll_event(), count: 64)
        while !isStopped {
            let count = epoll_wait(epoll, &events, Int32(events.count), timeout())
            if count < 0, errno != EINTR { break }
            for event in events.prefix(Int(max(0, count))) {
                switch event.data.fd {
                case wakeUp: runCommands()
                case listener: accept()
                case let socket: handle(socket, events: event.events)
                }
            }
            runTimers()
        }
        for socket in connections.keys { close(socket) }
        if listener >= 0 { close(listener) }
        close(epoll)
        shared.commands.withLock { $0.isClosed = true }
        close(wakeUp)
    }

    var now: ContinuousClock.Instant { clock.now }

    /// The `Date` header, made once a second.
    func date(at time: Timestamp) -> String {
        let second = time.microseconds / 1_000_000
        if second != dateSecond {
            dateSecond = second
            dateText = time.httpDate
        }
        return dateText
    }

    // MARK: Commands

    private func runCommands() {
        var count: UInt64 = 0
        while read(wakeUp, &count, 8) < 0 && errno == EINTR {}
        let commands = shared.commands.withLock { queue in
            defer { queue.waiting = [] }
            return queue.waiting
        }
        for command in commands {
            switch command {
            case .recheckHeld: resumeReleased()
            case .closeConnections: closeAll()
            case .refuseConnections:
                if listener >= 0 { close(listener) }
                listener = -1
                closeAll()
            case .acceptConnections(let new):
                if listener >= 0 { close(listener) }
                listener = new.socket
                watch(listener, events: EPOLLIN.rawValue, adding: true)
            case .stop: isStopped = true
            }
        }
        shared.commands.withLock { $0.obeyed += commands.count }
    }

    private func closeAll() {
        for socket in Array(connections.keys) { drop(socket) }
    }

    // MARK: Connections

    private func accept() {
        while true {
            let socket = Glibc.accept(listener, nil, nil)
            if socket < 0 {
                if errno == EINTR || errno == ECONNABORTED { continue }
                return
            }
            // accept4(2) would do this at once, but Swift's Glibc module does not declare it.
            _ = prsnl_fcntl_int(socket, F_SETFD, FD_CLOEXEC)
            _ = prsnl_fcntl_int(socket, F_SETFL, O_NONBLOCK)
            var on: Int32 = 1
            setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
            connectionCount += 1
            connections[socket] = Connection(socket: socket, number: connectionCount, lastActive: now)
            watch(socket, events: EPOLLIN.rawValue, adding: true)
        }
    }

    private func handle(_ socket: Int32, events: UInt32) {
        // Taken out while it is worked on, so that its buffers are not copied.
        guard var connection = connections.removeValue(forKey: socket) else { return }
        var isAlive = true
        if events & (EPOLLIN.rawValue | EPOLLHUP.rawValue | EPOLLERR.rawValue) != 0 {
            if case .ended = connection.read(using: &readBuffer) { isAlive = false }
            connection.lastActive = now
        }
        if isAlive { isAlive = advance(&connection) }
        keep(connection, isAlive: isAlive)
    }

    /// Writes and serves as far as it goes.
    ///
    /// - Returns: false when the connection is done.
    func advance(_ connection: inout Connection) -> Bool {
        while true {
            switch connection.waiting {
            case .answerHeld, .answerLate: return true
            default: break
            }
            if connection.hasOutput {
                if connection.drip != nil {
                    if !connection.isWaiting { connection.waiting = .dripping(next: now) }
                    return true
                }
                if !connection.write() { return false }
                if connection.hasOutput { return true }
            }
            if connection.closesAfterwards { return false }
            if connection.isWaiting || connection.input.isEmpty { return true }
            switch parser.parse(connection.input[...]) {
            case .incomplete: return true
            case .expectsContinue:
                if !connection.toldToContinue {
                    connection.toldToContinue = true
                    connection.output.append(contentsOf: "HTTP/1.1 100 Continue\r\n\r\n".utf8)
                    continue
                }
                return true
            case .malformed:
                connection.output.append(
                    contentsOf: "HTTP/1.1 400 Bad Request\r\ndate: \(date(at: shared.time))\r\ncontent-length: 0\r\n"
                        .utf8)
                connection.output.append(contentsOf: "connection: close\r\n\r\n".utf8)
                connection.closesAfterwards = true
            case .request(let request, let length):
                connection.toldToContinue = false
                if length == connection.input.count {
                    connection.input.removeAll(keepingCapacity: true)
                } else {
                    connection.input.removeFirst(length)
                }
                admit(request, on: &connection)
            }
        }
    }

    private func keep(_ connection: Connection, isAlive: Bool) {
        guard isAlive else {
            close(connection.socket)
            return
        }
        var connection = connection
        var wantsOutput = connection.hasOutput
        switch connection.waiting {
        case .dripping, .answerHeld, .answerLate: wantsOutput = false
        case .nothing, .held, .until, .stalled: break
        }
        if wantsOutput != connection.watchesOutput {
            connection.watchesOutput = wantsOutput
            let events = EPOLLIN.rawValue | (wantsOutput ? EPOLLOUT.rawValue : 0)
            watch(connection.socket, events: events, adding: false)
        }
        connections[connection.socket] = connection
    }

    private func drop(_ socket: Int32) {
        connections[socket] = nil
        close(socket)
    }

    private func watch(_ descriptor: Int32, events: UInt32, adding: Bool) {
        var event = epoll_event(events: events, data: epoll_data_t(fd: descriptor))
        epoll_ctl(epoll, adding ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, descriptor, &event)
    }

    // MARK: Time

    /// When the next connection has something to do by itself. -1 for never.
    private func timeout() -> Int32 {
        var earliest: ContinuousClock.Instant?
        for connection in connections.values {
            guard let due = due(connection) else { continue }
            if earliest.map({ due < $0 }) ?? true { earliest = due }
        }
        guard let earliest else { return -1 }
        let wait = now.duration(to: earliest).wholeMicroseconds
        return wait <= 0 ? 0 : Int32(min(wait / 1_000 + 1, 3_600_000))
    }

    private func due(_ connection: Connection) -> ContinuousClock.Instant? {
        switch connection.waiting {
        case .until(let time, _, _), .dripping(let time), .answerLate(let time): time
        case .held, .answerHeld, .stalled: nil
        case .nothing: connection.hasOutput ? nil : idleTimeout.map { connection.lastActive + $0 }
        }
    }

    private func runTimers() {
        let time = now
        for socket in connections.filter({ due($0.value).map { $0 <= time } ?? false }).keys {
            guard var connection = connections.removeValue(forKey: socket) else { continue }
            var isAlive = true
            switch connection.waiting {
            case .until(_, let request, let admission):
                connection.waiting = .nothing
                serve(request, admission, on: &connection)
                isAlive = advance(&connection)
            case .dripping: isAlive = drip(&connection, at: time)
            case .answerLate:
                connection.waiting = .nothing
                connection.lastActive = time
                isAlive = advance(&connection)
            case .nothing: isAlive = false  // idle for too long
            case .held, .answerHeld, .stalled: break
            }
            keep(connection, isAlive: isAlive)
        }
    }

    private func drip(_ connection: inout Connection, at time: ContinuousClock.Instant) -> Bool {
        guard let drip = connection.drip else { return true }
        guard connection.write(limit: drip.bytes) else { return false }
        if connection.hasOutput {
            connection.waiting = .dripping(next: time + drip.interval)
            return true
        }
        connection.drip = nil
        connection.waiting = .nothing
        connection.lastActive = time
        return advance(&connection)
    }

    private func resumeReleased() {
        for (socket, connection) in connections {
            let request: HTTPRequest?
            let number: Int
            switch connection.waiting {
            case .held(let held, let admission): (request, number) = (held, admission.faultNumber)
            case .answerHeld(let admission): (request, number) = (nil, admission.faultNumber)
            case .nothing, .until, .answerLate, .dripping, .stalled: continue
            }
            guard !shared.isHeld(byFault: number), var taken = connections.removeValue(forKey: socket) else { continue }
            taken.waiting = .nothing
            taken.lastActive = now
            if let request, case .held(_, let admission) = connection.waiting { serve(request, admission, on: &taken) }
            // In two steps: as one expression, `taken` would be copied before it is advanced, and answer twice.
            let isAlive = advance(&taken)
            keep(taken, isAlive: isAlive)
        }
    }
}
