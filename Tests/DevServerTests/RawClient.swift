import CLinux
import DevServer
import Glibc

/// An HTTP client that shows everything: one blocking socket, no retries, no redirects.
final class RawClient {
    struct Answer {
        var status: Int
        var headers: [String: String]
        var body: [UInt8]
        /// The server announced more than it sent.
        var isCutOff = false
        var text: String { String(decoding: body, as: UTF8.self) }
    }

    struct Closed: Error {}

    private let socket: Int32
    private var input: [UInt8] = []

    convenience init(_ server: DevServer) throws { try self.init(port: server.port) }

    init(port: UInt16) throws {
        socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        // Only bounds a test that fails.
        var timeout = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr = in_addr(s_addr: UInt32(0x7F00_0001).bigEndian)
        let code = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        if code != 0 { throw Closed() }
    }

    deinit {
        close(socket)
    }

    func send(_ method: String, _ target: String, headers: [String: String] = [:], body: [UInt8]? = nil) throws {
        var head = "\(method) \(target) HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        for (name, value) in headers { head += "\(name): \(value)\r\n" }
        if let body { head += "Content-Length: \(body.count)\r\n" }
        try send(Array((head + "\r\n").utf8) + (body ?? []))
    }

    func send(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.send(socket, $0.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
            }
            if count <= 0 { throw Closed() }
            sent += count
        }
    }

    /// - Throws: `Closed` when the connection ends before a head.
    func receive(isHead: Bool = false) throws -> Answer {
        var end: Int?
        while end == nil {
            end = endOfHead()
            if end == nil, try !more() { throw Closed() }
        }
        let lines = String(decoding: input[..<end!], as: UTF8.self).split(separator: "\r\n")
        var answer = Answer(status: Int(lines[0].split(separator: " ")[1]) ?? 0, headers: [:], body: [])
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            answer.headers[parts[0].lowercased()] = parts[1].drop { $0 == " " }.description
        }
        input.removeFirst(end!)
        let length = isHead ? 0 : answer.headers["content-length"].flatMap { Int($0) } ?? 0
        while input.count < length {
            if try !more() {
                answer.isCutOff = true
                break
            }
        }
        answer.body = Array(input.prefix(length))
        input.removeFirst(min(length, input.count))
        return answer
    }

    func request(
        _ method: String, _ target: String, headers: [String: String] = [:], body: String? = nil
    ) throws -> Answer {
        var headers = headers
        if body != nil, headers["Content-Type"] == nil { headers["Content-Type"] = "application/json" }
        try send(method, target, headers: headers, body: body.map { Array($0.utf8) })
        return try receive(isHead: method == "HEAD")
    }

    func get(_ target: String, headers: [String: String] = [:]) throws -> Answer {
        try request("GET", target, headers: headers)
    }

    /// Whether the server closes without another byte.
    func isClosedByServer() throws -> Bool {
        if !input.isEmpty { return false }
        do {
            return try !more()
        } catch is Closed {
            return true
        }
    }

    private func endOfHead() -> Int? {
        guard input.count >= 4 else { return nil }
        for index in 3..<input.count where input[index - 3...index] == [13, 10, 13, 10] { return index + 1 }
        return nil
    }

    /// - Returns: false at the end of the stream.
    private func more() throws -> Bool {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = recv(socket, &buffer, buffer.count, 0)
        if count < 0 { throw Closed() }
        input.append(contentsOf: buffer[..<count])
        return count > 0
    }
}

extension DevServer {
    /// One request on a connection of its own.
    func once(_ method: String, _ target: String, headers: [String: String] = [:], body: String? = nil) throws
        -> RawClient.Answer
    {
        try RawClient(self).request(method, target, headers: headers, body: body)
    }

    func get(_ target: String, headers: [String: String] = [:]) throws -> RawClient.Answer {
        try once("GET", target, headers: headers)
    }
}
