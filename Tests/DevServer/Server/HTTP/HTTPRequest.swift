import PRSNLCore

/// One request, read.
struct HTTPRequest: Sendable {
    var method = ""
    /// Without query and prefix, decoded.
    var path = ""
    var query = ""
    /// By lower-case name.
    var headers: [String: String] = [:]
    var body: [UInt8] = []
    var keepsAlive = true
    /// The path does not begin with the configured prefix: of another site on the same host.
    var isOutsidePrefix = false

    func parameter(_ name: String) -> String? { query.isEmpty ? nil : QueryText.value(of: name, in: query) }

    /// The token of `Authorization: Bearer`.
    var bearer: String? {
        guard let value = headers["authorization"], value.lowercased().hasPrefix("bearer ") else { return nil }
        return String(value.dropFirst(7))
    }

    var authorization: LoggedRequest.Authorization {
        let hasKey = headers["x-api-key"] != nil
        guard headers["authorization"] != nil else { return hasKey ? .apiKey : .none }
        if hasKey { return .both }
        guard let bearer else { return .other }
        return bearer.split(separator: ".", omittingEmptySubsequences: false).count == 3 ? .token : .bearerKey
    }
}

/// What the beginning of a connection's input is.
enum ParsedInput {
    /// Not a whole request yet.
    case incomplete
    /// The head is there, and the client waits to be told to send the body.
    case expectsContinue
    case request(HTTPRequest, length: Int)
    /// No HTTP, or too large.
    case malformed
}

/// Reads HTTP/1.1 requests (RFC 9112) with a Content-Length or no body. Chunked bodies are not taken.
struct HTTPRequestParser {
    static let maximumHead = 65_536
    static let maximumBody = 64 << 20

    let pathPrefix: String

    func parse(_ input: ArraySlice<UInt8>) -> ParsedInput {
        input.withUnsafeBufferPointer { bytes in
            guard let headEnd = Self.endOfHead(bytes) else {
                return bytes.count > Self.maximumHead ? .malformed : .incomplete
            }
            guard var request = head(UnsafeBufferPointer(rebasing: bytes[..<headEnd])) else { return .malformed }
            var length = 0
            if let text = request.headers["content-length"] {
                guard let value = Int(text), (0...Self.maximumBody).contains(value) else { return .malformed }
                length = value
            } else if request.headers["transfer-encoding"] != nil {
                return .malformed
            }
            guard bytes.count >= headEnd + length else {
                let waits = request.headers["expect"]?.lowercased() == "100-continue" && bytes.count == headEnd
                return waits ? .expectsContinue : .incomplete
            }
            request.body = Array(bytes[headEnd..<headEnd + length])
            return .request(request, length: headEnd + length)
        }
    }

    /// The offset after the empty line.
    private static func endOfHead(_ bytes: UnsafeBufferPointer<UInt8>) -> Int? {
        var at = 3
        while at < bytes.count {
            switch bytes[at] {
            case 0x0A:
                if bytes[at - 1] == 0x0D, bytes[at - 2] == 0x0A, bytes[at - 3] == 0x0D { return at + 1 }
                at += 2
            case 0x0D: at += 1
            default: at += 4
            }
        }
        return nil
    }

    private func head(_ bytes: UnsafeBufferPointer<UInt8>) -> HTTPRequest? {
        var request = HTTPRequest()
        var isFirst = true
        for line in bytes.split(separator: 0x0A) {
            let line = line.last == 0x0D ? line.dropLast() : line
            if line.isEmpty { continue }
            if isFirst {
                guard readRequestLine(line, into: &request) else { return nil }
                isFirst = false
                continue
            }
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
            let name = Self.text(line[..<colon]).lowercased()
            var value = line[(colon + 1)...]
            while value.first == 0x20 || value.first == 0x09 { value = value.dropFirst() }
            while value.last == 0x20 || value.last == 0x09 { value = value.dropLast() }
            request.headers[name] = Self.text(value)
        }
        if isFirst { return nil }
        if request.headers["connection"]?.lowercased() == "close" { request.keepsAlive = false }
        return request
    }

    private func readRequestLine(_ line: Slice<UnsafeBufferPointer<UInt8>>, into request: inout HTTPRequest) -> Bool {
        let parts = line.split(separator: 0x20)
        guard parts.count == 3, Self.text(parts[2]).hasPrefix("HTTP/1.") else { return false }
        request.keepsAlive = Self.text(parts[2]) == "HTTP/1.1"
        request.method = Self.text(parts[0])
        var target = parts[1]
        if let question = target.firstIndex(of: UInt8(ascii: "?")) {
            request.query = Self.text(target[(question + 1)...])
            target = target[..<question]
        }
        var path = QueryText.decoded(target, plusIsSpace: false)
        if !pathPrefix.isEmpty {
            guard path.hasPrefix(pathPrefix) else {
                request.path = path
                request.isOutsidePrefix = true
                return true
            }
            path.removeFirst(pathPrefix.count)
        }
        request.path = path
        return true
    }

    private static func text(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> String {
        String(decoding: UnsafeBufferPointer(rebasing: bytes), as: UTF8.self)
    }
}
