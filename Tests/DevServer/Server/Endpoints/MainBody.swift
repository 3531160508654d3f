import PRSNLCore

/// The body of a write on dialects C and P, read and checked field by field as the real server does: the first thing
/// wrong is answered.
struct MainBody {
    let members: [String: JSONValue]

    /// - Returns: `nil` when the answer is written.
    init?(_ request: HTTPRequest, _ response: inout HTTPResponse) {
        let contentType = request.headers["content-type"]?.lowercased() ?? ""
        guard String(validating: request.body, as: UTF8.self) != nil else {
            response.fail(400, "There was an error parsing the body")
            return nil
        }
        guard contentType.hasPrefix("application/json") else {
            let input = JSONText.string(String(decoding: request.body, as: UTF8.self))
            response.failValidation(
                "model_attributes_type", at: ["body"],
                "Input should be a valid dictionary or object to extract fields from", input: input)
            return nil
        }
        let value: JSONValue
        do {
            value = try JSONValue(request.body)
        } catch {
            let offset = (error as? JSONReader.Failure)?.offset ?? 0
            response.failValidation(
                "json_invalid", at: ["body", "\(offset)"], "JSON decode error", input: "{}",
                context: #"{"error":"Expecting value"}"#)
            return nil
        }
        guard case .object(let members) = value else {
            response.failValidation(
                "model_attributes_type", at: ["body"],
                "Input should be a valid dictionary or object to extract fields from", input: value.text)
            return nil
        }
        // PostgreSQL takes no NUL in a text, and Python no lone surrogate into UTF-8.
        let texts = value.strings
        let isReplaced = texts.contains { $0.contains("\u{FFFD}") } && !Self.hasReplacementCharacter(request.body)
        if isReplaced || texts.contains(where: { $0.unicodeScalars.contains("\0") }) {
            response.failUnhandled("Internal server error")
            return nil
        }
        self.members = members
    }

    private static func hasReplacementCharacter(_ body: [UInt8]) -> Bool {
        String(decoding: body, as: UTF8.self).contains("\u{FFFD}")
    }

    /// A text of so many characters. Absent and `null` are `nil`.
    func text(
        _ name: String, in range: ClosedRange<Int>, _ response: inout HTTPResponse, isValid: inout Bool
    ) -> String? {
        guard isValid, let value = members[name], value != .null else { return nil }
        guard let text = value.string else {
            response.failValidation(
                "string_type", at: ["body", name], "Input should be a valid string", input: value.text)
            isValid = false
            return nil
        }
        let length = text.unicodeScalars.count
        if length < range.lowerBound {
            response.failValidation(
                "string_too_short", at: ["body", name],
                "String should have at least \(range.lowerBound) character\(range.lowerBound == 1 ? "" : "s")",
                input: value.text, context: #"{"min_length":\#(range.lowerBound)}"#)
            isValid = false
        } else if length > range.upperBound {
            response.failValidation(
                "string_too_long", at: ["body", name], "String should have at most \(range.upperBound) characters",
                input: value.text, context: #"{"max_length":\#(range.upperBound)}"#)
            isValid = false
        }
        return isValid ? text : nil
    }

    /// At most 20. Those with other characters than `[a-z0-9 -]` are dropped, longer ones cut to 50.
    func tags(_ response: inout HTTPResponse, isValid: inout Bool) -> [String]? {
        guard isValid, let value = members["tags"], value != .null else { return nil }
        guard case .array(let elements) = value else {
            response.failValidation(
                "list_type", at: ["body", "tags"], "Input should be a valid list", input: value.text)
            isValid = false
            return nil
        }
        if elements.count > 20 {
            response.failValidation(
                "too_long", at: ["body", "tags"],
                "List should have at most 20 items after validation, not \(elements.count)", input: value.text,
                context: #"{"field_type":"List","max_length":20,"actual_length":\#(elements.count)}"#)
            isValid = false
            return nil
        }
        var tags: [String] = []
        for element in elements {
            guard let text = element.string?.trimmingWhiteSpace().lowercased() else { continue }
            let isClean = text.utf8.allSatisfy { byte in
                (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || byte == 0x20 || byte == 0x2D
            }
            let tag = String(text.prefix(50))
            if isClean, !tag.isEmpty, !tags.contains(tag) { tags.append(tag) }
        }
        return tags
    }
}
