import PRSNLCore

@testable import PRSNLClient

/// An answer that is an error: lines of headers (`status`, `retry-after`, `date`, `code`), an empty line, the body.
extension FuzzTarget {
    /// What was sent as the credential. Whatever a server makes of it, no error repeats it.
    private static let secret = "fake-secret-0123456789"

    static let errorBody = FuzzTarget(name: "error-body") { bytes in
        let (headers, body) = split(bytes)
        var answer = HTTPAnswer(status: headers["status"].flatMap { Int($0) } ?? 500, body: body)
        answer.retryAfter = headers["retry-after"]
        answer.date = headers["date"]
        answer.errorCode = headers["code"]
        let now = Timestamp(microseconds: 1_750_000_000_000_000)
        let error = APIError(
            answer: answer, endpoint: "GET /api/timeline", now: now, hiding: [secret])

        switch error.kind {
        case .rateLimitExceeded(let wait): check(wait)
        case .serviceUnavailable(_, let wait): if let wait { check(wait) }
        default: break
        }
        require(!error.isItemNotFound || error.status == 404, "an item that is not found, by \(answer.status)")
        require(error.serverCode.map { !$0.isEmpty && $0.utf8.count <= 64 } ?? true, "a code that is none")
        let told = error.userFacing
        // What may be shown or logged of it.
        for text in [error.detail, error.serverCode, told.message, told.cause, told.consequence] {
            if let text { check(text) }
        }
    }

    private static func check(_ wait: Duration) {
        require(wait >= .seconds(1) && wait <= .seconds(3_600), "a wait of \(wait)")
    }

    private static func check(_ text: String) {
        require(!contains(Array(text.utf8), Array(secret.utf8)), "the secret is in it: \(text)")
        require(text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }, "controls: \(text)")
        require(text.utf8.count <= 8_192, "\(text.utf8.count) bytes of text")
    }

    private static func contains(_ bytes: [UInt8], _ part: [UInt8]) -> Bool {
        guard bytes.count >= part.count else { return false }
        return (0...bytes.count - part.count).contains { bytes[$0..<$0 + part.count].elementsEqual(part) }
    }

    private static func split(_ bytes: [UInt8]) -> (headers: [String: String], body: [UInt8]) {
        var headers: [String: String] = [:]
        var rest = bytes[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            let line = String(decoding: rest[..<end], as: UTF8.self)
            rest = rest[(end + 1)...]
            if line.isEmpty { break }
            guard let colon = line.firstIndex(of: ":") else { continue }
            headers[String(line[..<colon])] = String(line[line.index(after: colon)...])
        }
        return (headers, Array(rest))
    }
}
