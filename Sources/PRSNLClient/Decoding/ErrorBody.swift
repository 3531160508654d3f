import PRSNLCore

/// What an error's body says, whichever of the API's seven shapes it has; the functions that read them show each.
struct ErrorBody: Equatable {
    var message: String?
    var code: String?
    /// The body's own `retry_after`, in seconds.
    var retryAfter: String?
    /// It has one of the seven shapes, and nothing that they do not have.
    var isPRSNL = false
    /// It has the member that only the main server's errors have.
    var hasDetail = false

    /// Never fails: HTML, an empty body and anything else from a proxy say nothing.
    ///
    /// - Parameter secrets: The credentials that were sent, which some servers repeat.
    init(_ bytes: [UInt8], hiding secrets: [String] = []) {
        let value: JSONValue
        do {
            value = try JSONValue.parse(bytes)
        } catch {
            return  // no JSON is one of the shapes
        }
        isPRSNL = Self.hasKnownShape(value)
        hasDetail = value["detail"] != nil
        read(value)
        if let detail = value["detail"] { readDetail(detail) }
        if case .number(let seconds)? = value["retry_after"] { retryAfter = seconds }
        if let seconds = value["retry_after"]?.text { retryAfter = seconds }
        message = message.map { Self.presentable($0, hiding: secrets) }
        code = code.flatMap { Self.presentableCode($0, hiding: secrets) }
    }

    /// `{"error": "text"}`, `{"error": {…}}`, `{"error": "code", "message": "text"}`, `{"message": …, "code": …}`.
    private mutating func read(_ value: JSONValue) {
        code = value["code"]?.text
        message = value["message"]?.text
        guard let error = value["error"] else { return }
        if let text = error.text {
            if message == nil { message = text } else if code == nil { code = text }
            return
        }
        code = error["code"]?.text ?? code
        message = error["message"]?.text ?? message
        let reasons = (error["details"]?.elements ?? []).compactMap { detail -> String? in
            guard let reason = detail["message"]?.text else { return nil }
            return (detail["field"]?.text).map { "\($0): \(reason)" } ?? reason
        }
        if !reasons.isEmpty { message = ([message].compactMap(\.self) + reasons).joined(separator: "; ") }
    }

    /// Gateways also answer with JSON: `{"message": "…"}`, or RFC 9457's `detail` beside `type`, `title` and `status`.
    private static func hasKnownShape(_ value: JSONValue) -> Bool {
        guard case .object(let members) = value else { return false }
        let known: Set<String> = ["detail", "code", "error", "message", "retry_after"]
        guard members.keys.allSatisfy(known.contains) else { return false }
        switch members["detail"] ?? members["error"] {
        case .string, .array: return true
        case .object(let inner): return inner["error"] != nil || inner["message"] != nil || inner["checks"] != nil
        case .number, .bool, .null, nil: return false
        }
    }

    /// `{"detail": "text"}`, `{"detail": [{"loc", "msg", …}]}`, `{"detail": {"error": {…}}}`, `{"detail": {"status": …}}`.
    private mutating func readDetail(_ detail: JSONValue) {
        switch detail {
        case .string(let text): message = text
        case .array(let problems): message = Self.validation(problems)
        case .object:
            let outer = code
            read(detail)
            if message == nil { message = detail["status"]?.text }
            if code == nil { code = outer }
        case .number, .bool, .null: break
        }
    }

    /// The fields and reasons of a validation error, without the input that the server echoes.
    private static func validation(_ problems: [JSONValue]) -> String? {
        let lines = problems.prefix(5).compactMap { problem -> String? in
            guard var reason = problem["msg"]?.text else { return nil }
            if let input = problem["input"]?.text, input.utf8.count > 1 { reason.replace(input, with: "…") }
            var path = (problem["loc"]?.elements ?? []).compactMap { part -> String? in
                if case .number(let index) = part { return index }
                return part.text
            }
            if path.count > 1, ["body", "query", "path"].contains(path[0]) { path.removeFirst() }
            return path.isEmpty ? reason : "\(path.joined(separator: ".")): \(reason)"
        }
        guard !lines.isEmpty else { return nil }
        let more = problems.count > 5 ? "; and \(problems.count - 5) more" : ""
        return lines.joined(separator: "; ") + more
    }

    // MARK: Making it fit to be shown

    /// The longest message kept, in Unicode scalars.
    static let longestMessage = 300

    /// One line, without control characters, without what the server quotes: that is where it puts titles and input
    /// ("Item: 'My title'"), and its database driver whole rows ("[parameters: …").
    static func presentable(_ text: String, hiding secrets: [String] = []) -> String {
        // One line first: whatever white space stands between "Bearer" and a token is then a single space.
        var text = withoutSecrets(oneLine(text), secrets)
        for mark in ["[SQL", "[parameters"] {
            if let range = text.firstRange(of: mark) { text = String(text[..<range.lowerBound]) }
        }
        // Cut by scalars: one character may have any number of accents.
        let line = oneLine(withoutQuotations(text)).unicodeScalars
        return line.count > longestMessage
            ? String(String.UnicodeScalarView(line.prefix(longestMessage))) + "…" : String(line)
    }

    private static func oneLine(_ text: String) -> String {
        SafeText.withoutControls(text, by: " ").split(separator: " ").joined(separator: " ")
    }

    /// Words longer than any that a person writes: a token, whole or a part of it.
    private static let longestWord = 40

    /// Without the secrets themselves, without what stands after "Bearer", and without words that could be another secret.
    private static func withoutSecrets(_ text: String, _ secrets: [String]) -> String {
        var text = text
        for secret in secrets where !secret.isEmpty {
            // By scalars: as characters, the secret's last letter is another one with an accent behind it.
            text = String(text.unicodeScalars.replacing(secret.unicodeScalars, with: "…".unicodeScalars))
        }
        var hidesNext = false
        let words = text.split(separator: " ", omittingEmptySubsequences: false).map { word -> Substring in
            let isHidden = hidesNext || word.unicodeScalars.count > longestWord
            hidesNext = word.lowercased().hasSuffix("bearer")
            return isHidden ? "…" : word
        }
        return words.joined(separator: " ")
    }

    /// Everything from an opening quotation mark to the last closing one of its kind becomes `…`: a title may itself hold
    /// quotation marks, so the pairs cannot be trusted.
    private static func withoutQuotations(_ text: String) -> String {
        let characters = Array(text)
        for (index, mark) in characters.enumerated() where mark == "'" || mark == "\"" {
            let opens = index == 0 || !(characters[index - 1].isLetter || characters[index - 1].isNumber)
            guard opens else { continue }
            let last = characters.lastIndex(of: mark) ?? index
            // An opening mark without its partner: the text was cut, and all that follows may be the quotation.
            let rest = last > index ? characters[(last + 1)...] : []
            // Another kind of marks may follow.
            return String(characters[..<index]) + "…" + withoutQuotations(String(rest))
        }
        return text
    }

    /// Codes are names; anything else is not kept, and neither is one that repeats the credential.
    static func presentableCode(_ text: String, hiding secrets: [String] = []) -> String? {
        if secrets.contains(where: { !$0.isEmpty && text.contains($0) }) { return nil }
        let isName: (UInt8) -> Bool = { $0.isASCIILetterOrDigit || "_-.".utf8.contains($0) }
        return !text.isEmpty && text.utf8.count <= 64 && text.utf8.allSatisfy(isName) ? text : nil
    }
}
