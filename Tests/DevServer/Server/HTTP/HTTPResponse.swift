import PRSNLCore

/// One answer. The body's storage is used again for the next one.
struct HTTPResponse {
    var status = 200
    var contentType = "application/json"
    /// Beside content-type, content-length, date, server, connection and x-request-id.
    var headers: [(name: String, value: String)] = []
    var body: [UInt8] = []
    /// A 204, a 304 or an answer to HEAD: the head announces what the body would be.
    var hasBody = true

    mutating func reset() {
        status = 200
        contentType = "application/json"
        headers.removeAll(keepingCapacity: true)
        body.removeAll(keepingCapacity: true)
        hasBody = true
    }

    mutating func set(_ status: Int, _ text: String) {
        self.status = status
        body.removeAll(keepingCapacity: true)
        body.append(contentsOf: text.utf8)
    }

    /// `{"detail": "text"}`, as FastAPI words it, with the `x-error-code` of PRSNL's own errors.
    mutating func fail(_ status: Int, _ detail: String, code: String? = nil) {
        set(status, "{\"detail\":\(JSONText.string(detail))}")
        if let code { headers.append(("x-error-code", code)) }
    }

    /// What FastAPI answers for an unhandled error.
    mutating func failUnhandled(_ detail: String) {
        let code = "INTERNAL_SERVER_ERROR"
        set(500, "{\"detail\":\(JSONText.string(detail)),\"code\":\"\(code)\"}")
        headers.append(("x-error-code", code))
    }

    /// A 422 of one entry. `input` and `context` are JSON.
    mutating func failValidation(
        _ type: String, at location: [String], _ message: String, input: String, context: String? = nil
    ) {
        let path = location.map { Int($0) == nil ? JSONText.string($0) : $0 }.joined(separator: ",")
        let tail = context.map { ",\"ctx\":\($0)" } ?? ""
        set(
            422,
            "{\"detail\":[{\"type\":\"\(type)\",\"loc\":[\(path)],\"msg\":\(JSONText.string(message)),"
                + "\"input\":\(input)\(tail)}]}")
    }

    /// `{"error": "text"}` of the small server.
    mutating func failExpress(_ status: Int, _ error: String) {
        set(status, "{\"error\":\(JSONText.string(error))}")
    }

    /// The page that Express itself answers with.
    mutating func failHTML(_ status: Int, _ text: String) {
        contentType = "text/html; charset=utf-8"
        set(
            status,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>Error</title>\n</head>\n"
                + "<body>\n<pre>\(text)</pre>\n</body>\n</html>\n")
    }

    /// Appends status line, headers and body.
    ///
    /// - Parameter announcedLength: the Content-Length, where it is not the body's.
    func append(
        to output: inout [UInt8], server: String, date: String, requestID: String, keepsAlive: Bool,
        announcedLength: Int? = nil
    ) {
        output.reserveCapacity(output.count + body.count + 512)
        var head = "HTTP/1.1 \(status) \(Self.reason(status))\r\ndate: \(date)\r\nserver: \(server)\r\n"
        if status != 204 && status != 304 {
            head += "content-length: \(announcedLength ?? body.count)\r\n"
            if !contentType.isEmpty { head += "content-type: \(contentType)\r\n" }
        }
        for (name, value) in headers { head += "\(name): \(value)\r\n" }
        head += "x-request-id: \(requestID)\r\n"
        if !keepsAlive { head += "connection: close\r\n" }
        head += "\r\n"
        output.append(contentsOf: head.utf8)
        if hasBody && status != 204 && status != 304 { output.append(contentsOf: body) }
    }

    private static func reason(_ status: Int) -> String {
        switch status {
        case 100: "Continue"
        case 200: "OK"
        case 201: "Created"
        case 204: "No Content"
        case 301: "Moved Permanently"
        case 302: "Found"
        case 304: "Not Modified"
        case 307: "Temporary Redirect"
        case 308: "Permanent Redirect"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 409: "Conflict"
        case 413: "Payload Too Large"
        case 415: "Unsupported Media Type"
        case 422: "Unprocessable Entity"
        case 429: "Too Many Requests"
        case 500: "Internal Server Error"
        case 502: "Bad Gateway"
        case 503: "Service Unavailable"
        case 504: "Gateway Timeout"
        default: "Status"
        }
    }
}

extension Timestamp {
    /// The fixed form of RFC 9110 section 5.6.7: `Sun, 06 Nov 1994 08:49:37 GMT`.
    var httpDate: String {
        let text = Array(description.utf8)
        func part(_ range: Range<Int>) -> String { String(decoding: text[range], as: UTF8.self) }
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let month = Int(part(5..<7)).map { months[$0 - 1] } ?? ""
        // 1970-01-01 was a Thursday.
        let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
        let day = (microseconds / 86_400_000_000 % 7 + 7) % 7
        return "\(days[Int(day)]), \(part(8..<10)) \(month) \(part(0..<4)) \(part(11..<19)) GMT"
    }
}
