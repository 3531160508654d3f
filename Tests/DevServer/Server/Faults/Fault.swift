import PRSNLCore

/// Something that goes wrong with a request, on purpose.
package enum Fault: Sendable {
    /// This answer, and nothing else happens.
    case answer(status: Int, headers: [String: String] = [:], body: String = "")
    /// Like `answer`, with a body of bytes.
    case answerBytes(status: Int, headers: [String: String] = [:], body: [UInt8])
    /// Nothing happens until `ScriptedFault.release()`. Then the request is served as usual.
    case hold
    /// The request is served at once, and its answer kept back until `ScriptedFault.release()`: it is out of date then.
    case holdAnswer
    /// Nothing happens for so long. Then the request is served as usual.
    case delay(Duration)
    /// Runs on the server's thread before the request is served as usual. May change the server's data, must not stop
    /// it.
    case perform(@Sendable () -> Void)
    /// The connection is closed, nothing is applied.
    case closeBeforeAnswering
    /// The request is applied and the connection closed without an answer.
    case closeAfterApplying
    /// This request is answered and its connection kept alive. The next request on it is applied and the connection
    /// then closed without an answer.
    case dieKeptAlive
    /// The request is applied, and then answered so.
    case answerAfterApplying(status: Int, headers: [String: String] = [:], body: String = "")
    /// The right answer, cut off after so many bytes of its body.
    case truncate(after: Int)
    /// 200 and bytes that are no JSON.
    case garbage
    /// 200 and the HTML of a captive portal.
    case portal
    /// 200, `application/json`, no body.
    case emptyBody
    /// 200 and `{}`.
    case emptyObject
    /// A redirect. A target without a scheme is a path of this server.
    case redirect(to: String, status: Int = 302)
    /// 429 as the real server words it.
    case rateLimit(RetryAfter)
    /// 200 and a body of about so many bytes that is one well-formed but unending page. Gzip makes it small on the
    /// wire.
    case huge(bytes: Int, gzip: Bool)
    /// The right answer, `bytes` at a time.
    case drip(bytes: Int, every: Duration)
    /// The right head and half of the body, and then silence on an open connection.
    case stall
    /// The timeline's answer is this lie. Dialects P and E know `emptyEnd` alone.
    case lie(PageLie)
    /// The right answer, said to come from a cache in which it was for so long (`Age`).
    case aged(Duration)
    /// One of a storm's.
    case storm(StormFault)

    package enum RetryAfter: Sendable, Equatable {
        case seconds(Int)
        /// An HTTP date so far from now.
        case date(Duration)
        /// "soon".
        case garbage
        /// No header, and `retry_after` in the body.
        case inBody(Int)
        case none
    }
}

/// A fault in the server's script.
package struct ScriptedFault: Sendable {
    let number: Int
    let shared: SharedState

    /// How many requests it was applied to so far.
    package var appliedCount: Int { shared.appliedCount(ofFault: number) }

    /// Lets the requests go on that it holds, and holds no more.
    package func release() { shared.release(fault: number) }

    /// Takes it out of the script. Held requests go on.
    package func remove() { shared.remove(fault: number) }
}
