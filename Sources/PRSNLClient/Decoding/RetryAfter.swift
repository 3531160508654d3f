import PRSNLCore

/// How long a server asks to be left alone: `Retry-After` of RFC 9110 section 10.2.3, in seconds or as a date.
enum RetryAfter {
    static let shortest: Duration = .seconds(1)
    static let longest: Duration = .seconds(3_600)
    /// For a rate limit that does not say.
    static let unsaid: Duration = .seconds(60)

    /// - Parameters:
    ///   - date: the answer's own `Date`. A date is measured against it, so that a wrong clock here or there does not
    ///     matter.
    ///   - now: for an answer without `Date`.
    /// - Returns: the wait, 1 s to 1 h; `nil` for what cannot be understood.
    static func parse(_ text: String?, date: String?, now: Timestamp) -> Duration? {
        guard let text = text.map({ $0.trimmingSpaces() }), !text.isEmpty else { return nil }
        if text.utf8.allSatisfy({ (48...57).contains($0) }) {
            // More digits than fit are a very long time.
            return clamped(Int64(text).map { Duration.seconds(min($0, 1 << 40)) } ?? longest)
        }
        if let until = HTTPDate.parse(text) {
            return clamped(until.duration(since: date.flatMap(HTTPDate.parse) ?? now))
        }
        return nil
    }

    static func clamped(_ wait: Duration) -> Duration { min(max(wait, shortest), longest) }
}

/// The one date form that HTTP servers must send: IMF-fixdate, RFC 9110 section 5.6.7.
enum HTTPDate {
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// `Sun, 06 Nov 1994 08:49:37 GMT`. The day of the week is not checked. `nil` for anything else, the two obsolete
    /// forms included.
    static func parse(_ text: String) -> Timestamp? {
        let parts = text.trimmingSpaces().split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 6, parts[0].utf8.count == 4, parts[0].hasSuffix(","), parts[1].utf8.count == 2,
            let month = months.firstIndex(of: String(parts[2])), parts[3].utf8.count == 4, parts[4].utf8.count == 8,
            parts[5] == "GMT"
        else { return nil }
        let number = month + 1 < 10 ? "0\(month + 1)" : "\(month + 1)"
        return Timestamp("\(parts[3])-\(number)-\(parts[1])T\(parts[4])Z")
    }
}

extension String {
    func trimmingSpaces() -> String {
        let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" || $0.isNewline }
        guard let first = firstIndex(where: { !isSpace($0) }), let last = lastIndex(where: { !isSpace($0) }) else {
            return ""
        }
        return String(self[first...last])
    }
}
