import CLinux
import Glibc
import Synchronization

/// An HTTP/1.1 server that answers each request with the bytes that a test gives it: for answers that no real server
/// gives, half ones included. One thread per connection.
final class ScriptedServer: Sendable {
    struct Request: Sendable {
        /// From 1.
        var connection: Int
        var method: String
        /// Path and query as sent.
        var target: String
        /// By lower-case name.
        var headers: [String: String]
        var body: String
    }

    struct Reply: Sendable {
        var bytes: [UInt8]
        var after = After.keepOpen

        enum After: Sendable {
            case keepOpen, close
            /// The connection stays open and silent until the server stops.
            case silence
            /// These bytes follow, again and again, until the client hangs up.
            case endless([UInt8])
        }

        static func raw(_ text: String, _ after: After = .close) -> Reply {
            Reply(bytes: Array(text.utf8), after: after)
        }

        static func json(_ body: String, status: Int = 200, headers: [String: String] = [:]) -> Reply {
            answer(status, ["Content-Type": "application/json"].merging(headers) { $1 }, body)
        }

        static func answer(_ status: Int, _ headers: [String: String], _ body: String) -> Reply {
            var text = "HTTP/1.1 \(status) Scripted\r\n"
            for (name, value) in headers { text += "\(name): \(value)\r\n" }
            text += "Content-Length: \(body.utf8.count)\r\n\r\n"
            return Reply(bytes: Array((text + body).utf8))
        }

        static let closed = Reply(bytes: [], after: .close)
        static let silent = Reply(bytes: [], after: .silence)
    }

    /// What the server's threads share with it; they outlive it by a moment.
    private final class Shared: Sendable {
        struct State {
            var requests: [Request] = []
            var connections: [Int32] = []
            var stopping = false
        }

        let state = Mutex(State())
        let respond: @Sendable (Request) -> Reply

        init(_ respond: @escaping @Sendable (Request) -> Reply) { self.respond = respond }
    }

    let port: UInt16
    private let listener: Int32
    private let shared: Shared

    var url: String { "http://127.0.0.1:\(port)" }
    var requests: [Request] { shared.state.withLock { $0.requests } }

    /// - Parameter respond: called on the connection's thread, which it may hold up.
    init(_ respond: @escaping @Sendable (Request) -> Reply) throws {
        listener = try LoopbackSocket.listen()
        port = try LoopbackSocket.port(of: listener)
        shared = Shared(respond)
        Self.detach { [listener, shared] in
            var number = 0
            while true {
                let socket = accept(listener, nil, nil)
                if socket < 0, errno == EINTR { continue }
                guard socket >= 0 else {
                    close(listener)
                    return
                }
                number += 1
                Self.serve(socket, number, shared)
            }
        }
    }

    /// One answer for every request.
    convenience init(always reply: Reply) throws { try self.init { _ in reply } }

    /// The answers in order, whatever is asked; the last one again and again.
    convenience init(_ replies: [Reply]) throws {
        let next = Mutex(0)
        try self.init { _ in
            next.withLock { index in
                defer { index += 1 }
                return replies[min(index, replies.count - 1)]
            }
        }
    }

    deinit { stop() }

    func stop() {
        shared.state.withLock { state in
            if state.stopping { return }
            state.stopping = true
            for socket in state.connections { shutdown(socket, Int32(SHUT_RDWR)) }
            // Refuses connections from now on, and wakes the thread that accepts, which then closes it.
            shutdown(listener, Int32(SHUT_RDWR))
        }
    }

    private static func serve(_ socket: Int32, _ number: Int, _ shared: Shared) {
        shared.state.withLock { state in
            state.connections.append(socket)
            if state.stopping { shutdown(socket, Int32(SHUT_RDWR)) }
        }
        detach {
            var connection = Connection(socket: socket)
            defer {
                // Under the lock, so that `stop` never touches a number that the kernel has reused.
                shared.state.withLock { state in
                    state.connections.removeAll { $0 == socket }
                    close(socket)
                }
            }
            while let request = connection.read(number) {
                shared.state.withLock { $0.requests.append(request) }
                let reply = shared.respond(request)
                guard connection.write(reply.bytes) else { return }
                switch reply.after {
                case .keepOpen: continue
                case .close: return
                case .endless(let more):
                    while connection.write(more) {}
                    return
                case .silence:
                    _ = connection.read(number)  // returns when either side closes
                    return
                }
            }
        }
    }

    private static func detach(_ body: @escaping @Sendable () -> Void) {
        var thread = pthread_t()
        let box = Unmanaged.passRetained(Work(body)).toOpaque()
        let code = pthread_create(
            &thread, nil,
            { pointer in
                Unmanaged<Work>.fromOpaque(pointer!).takeRetainedValue().body()
                return nil
            }, box)
        precondition(code == 0, "pthread_create: errno \(code)")
        pthread_detach(thread)
    }

    private final class Work: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
}

/// Reads requests from one socket.
private struct Connection {
    let socket: Int32
    private var pending: [UInt8] = []

    init(socket: Int32) { self.socket = socket }

    /// The next request; `nil` when the connection ends. A TLS handshake is answered as a web server without TLS does: as
    /// if it were a request.
    mutating func read(_ number: Int) -> ScriptedServer.Request? {
        while true {
            if pending.first == 0x16 {
                pending = []
                return ScriptedServer.Request(connection: number, method: "TLS", target: "", headers: [:], body: "")
            }
            let text = String(decoding: pending, as: UTF8.self)
            if let end = text.range(of: "\r\n\r\n") {
                let lines = text[..<end.lowerBound].split(separator: "\r\n")
                let words = (lines.first ?? "").split(separator: " ")
                guard words.count == 3 else { return nil }
                var headers: [String: String] = [:]
                for line in lines.dropFirst() {
                    let parts = line.split(separator: ":", maxSplits: 1).map { $0.drop { $0 == " " } }
                    headers[parts[0].lowercased()] = parts.count > 1 ? String(parts[1]) : ""
                }
                let start = text[..<end.upperBound].utf8.count
                let length = headers["content-length"].flatMap { Int($0) } ?? 0
                if pending.count >= start + length {
                    let body = String(decoding: pending[start..<start + length], as: UTF8.self)
                    pending.removeFirst(start + length)
                    return ScriptedServer.Request(
                        connection: number, method: String(words[0]), target: String(words[1]), headers: headers,
                        body: body)
                }
            }
            var chunk = [UInt8](repeating: 0, count: 65_536)
            let count = recv(socket, &chunk, chunk.count, 0)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return nil }
            pending += chunk[..<count]
        }
    }

    func write(_ bytes: [UInt8]) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }
}

extension String {
    /// Foundation has this; without it the standard library finds collections only.
    fileprivate func range(of other: String) -> Range<Index>? { firstRange(of: other) }
}

enum LoopbackSocket {
    struct Failure: Error { let operation: String, code: Int32 }

    /// A socket of 127.0.0.1 that listens on a port of the kernel's choice.
    static func listen() throws -> Int32 {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { throw Failure(operation: "socket", code: errno) }
        try bind(socket, address: 0x7F00_0001, port: 0)
        guard Glibc.listen(socket, 16) == 0 else { throw Failure(operation: "listen", code: errno) }
        return socket
    }

    static func bind(_ socket: Int32, address: UInt32, port: UInt16) throws {
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_addr.s_addr = address.bigEndian
        name.sin_port = port.bigEndian
        let code = withUnsafePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.bind(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard code == 0 else { throw Failure(operation: "bind", code: errno) }
    }

    static func port(of socket: Int32) throws -> UInt16 {
        var name = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket, $0, &length) }
        }
        guard code == 0 else { throw Failure(operation: "getsockname", code: errno) }
        return UInt16(bigEndian: name.sin_port)
    }
}

extension LoopbackSocket {
    /// A connection to 127.0.0.1; with `waiting` false only begun.
    static func connect(port: UInt16, waiting: Bool) throws -> Int32 {
        let kind = Int32(SOCK_STREAM.rawValue) | (waiting ? 0 : Int32(SOCK_NONBLOCK.rawValue))
        let socket = Glibc.socket(AF_INET, kind, 0)
        guard socket >= 0 else { throw Failure(operation: "socket", code: errno) }
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        name.sin_port = port.bigEndian
        let code = withUnsafePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard code == 0 || (!waiting && errno == EINPROGRESS) else { throw Failure(operation: "connect", code: errno) }
        return socket
    }
}

/// A door that threads wait at until it is opened, once and for all.
final class DispatchGate: Sendable {
    private let descriptor = eventfd(0, Int32(EFD_CLOEXEC))

    deinit { close(descriptor) }

    func open() { eventfd_write(descriptor, 1) }

    /// Blocks the thread.
    func wait() {
        var value: eventfd_t = 0
        while eventfd_read(descriptor, &value) != 0 && errno == EINTR {}
        eventfd_write(descriptor, 1)
    }
}

/// gzip without a compressor: RFC 1951 blocks can repeat a byte without one.
enum GzipOf {
    /// `count` zero bytes as one fixed-Huffman block: a literal, then copies of it.
    static func zeros(count: Int) -> [UInt8] {
        var bits: [Bool] = []
        func put(_ value: Int, _ width: Int) { for bit in 0..<width { bits.append(value >> bit & 1 == 1) } }
        func code(_ value: Int, _ width: Int) {
            for bit in (0..<width).reversed() { bits.append(value >> bit & 1 == 1) }
        }
        put(1, 1)
        put(1, 2)
        var left = count
        code(0x30, 8)  // the literal 0
        left -= 1
        while left >= 258 {
            code(0b1100_0101, 8)  // length 258
            code(0, 5)  // distance 1
            left -= 258
        }
        for _ in 0..<left { code(0x30, 8) }
        code(0, 7)
        var bytes: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255]
        for start in stride(from: 0, to: bits.count, by: 8) {
            var byte: UInt8 = 0
            for offset in 0..<8 where start + offset < bits.count && bits[start + offset] { byte |= 1 << offset }
            bytes.append(byte)
        }
        for value in [crc(ofZeros: count), UInt32(count)] {
            for shift in stride(from: 0, to: 32, by: 8) { bytes.append(UInt8(truncatingIfNeeded: value >> shift)) }
        }
        return bytes
    }

    private static func crc(ofZeros count: Int) -> UInt32 {
        var crc: UInt32 = 0xFFFF_FFFF
        for _ in 0..<count * 8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
        return ~crc
    }
}
