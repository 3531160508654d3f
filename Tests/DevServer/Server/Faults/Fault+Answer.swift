import PRSNLCore

extension Fault {
    /// A name for the log.
    var name: String {
        switch self {
        case .answer: "answer"
        case .answerBytes: "answerBytes"
        case .hold: "hold"
        case .holdAnswer: "holdAnswer"
        case .delay: "delay"
        case .perform: "perform"
        case .closeBeforeAnswering: "closeBeforeAnswering"
        case .closeAfterApplying: "closeAfterApplying"
        case .dieKeptAlive: "dieKeptAlive"
        case .answerAfterApplying: "answerAfterApplying"
        case .truncate: "truncate"
        case .garbage: "garbage"
        case .portal: "portal"
        case .emptyBody: "emptyBody"
        case .emptyObject: "emptyObject"
        case .redirect: "redirect"
        case .rateLimit: "rateLimit"
        case .huge: "huge"
        case .drip: "drip"
        case .stall: "stall"
        case .lie: "lie"
        case .aged: "aged"
        case .storm(let fault): fault.name
        }
    }

    /// Writes the answer of a fault that answers by itself. False where the request is still to be applied or closed.
    func replacesAnswer(response: inout HTTPResponse, now: Timestamp) -> Bool {
        switch self {
        case .answer(let status, let headers, let body):
            response.answer(status: status, headers: headers, body: Array(body.utf8))
        case .answerBytes(let status, let headers, let body):
            response.answer(status: status, headers: headers, body: body)
        case .garbage:
            response.body = [0x00, 0xFF, 0xFE, 0x7B] + Array("not JSON at all \u{FFFD} {{{".utf8)
        case .portal:
            response.contentType = "text/html; charset=utf-8"
            response.set(
                200,
                "<!doctype html><html><head><title>Welcome to our network</title></head><body>"
                    + "<form action=\"http://portal.example/login\">Please accept the terms.</form></body></html>")
        case .emptyBody: break
        case .emptyObject: response.set(200, "{}")
        case .redirect(let target, let status):
            response.contentType = ""
            response.set(status, "")
            response.headers.append(("location", target))
        case .rateLimit(let retryAfter): retryAfter.answer(&response, now: now)
        case .huge(let bytes, let gzip): response.answerHuge(bytes: bytes, gzip: gzip)
        case .hold, .holdAnswer, .delay, .perform, .closeBeforeAnswering, .closeAfterApplying, .dieKeptAlive,
            .answerAfterApplying,
            .truncate, .drip, .stall, .lie, .aged, .storm:
            return false
        }
        return true
    }
}

extension Fault.RetryAfter {
    fileprivate func answer(_ response: inout HTTPResponse, now: Timestamp) {
        var inBody = "null"
        switch self {
        case .seconds(let seconds): response.headers.append(("retry-after", "\(seconds)"))
        case .date(let delay): response.headers.append(("retry-after", now.advanced(by: delay).httpDate))
        case .garbage: response.headers.append(("retry-after", "soon"))
        case .inBody(let seconds): inBody = "\(seconds)"
        case .none: break
        }
        response.set(
            429,
            #"{"error":"rate_limit_exceeded","message":"Rate limit exceeded: 30 per 1 minute","#
                + #""retry_after":\#(inBody)}"#
        )
    }
}

extension HTTPResponse {
    /// An answer of the script. A content type among the headers takes the place of JSON.
    mutating func answer(status: Int, headers: [String: String], body: [UInt8]) {
        self.status = status
        for (name, value) in headers.sorted(by: { $0.key < $1.key }) {
            if name.lowercased() == "content-type" {
                contentType = value
            } else {
                self.headers.append((name.lowercased(), value))
            }
        }
        self.body = body
    }

    /// `{"items":[` and then white space, which JSON allows any amount of.
    fileprivate mutating func answerHuge(bytes: Int, gzip: Bool) {
        let start = Array(#"{"items":["#.utf8)
        if gzip {
            body = GzipOfSpaces.make(start: start, count: bytes)
            headers.append(("content-encoding", "gzip"))
        } else {
            body = start + [UInt8](repeating: 0x20, count: max(0, bytes - start.count))
        }
    }
}
