package import PRSNLCore

/// One line of `capture --stdin`: a URL, or a JSON object with the members of a new item.
package enum CaptureLine {
    /// Bytes of a line, its end not counted: more than the longest note takes, whatever is escaped in it.
    package static let longest = 256 << 10
    package static let tooLong = refusal("The line is longer than \(longest >> 10) KiB.")

    /// - Parameter isFirst: A byte order mark may stand in front of the first line.
    /// - Returns: `nil` for a blank line.
    /// - Throws: `write_invalid`.
    package static func item(_ bytes: [UInt8], isFirst: Bool = false) throws(UserFacingError) -> NewItem? {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw refusal("The line is not UTF-8.") }
        var scalars = text.unicodeScalars
        if isFirst, scalars.first == "\u{FEFF}" { scalars.removeFirst() }
        let content = String(scalars).trimmingWhiteSpace()
        guard content.unicodeScalars.first == "{" else { return content.isEmpty ? nil : NewItem(url: content) }
        do {
            return try JSONReader.read(whole: Array(content.utf8)) { reader in
                let fields = try JSONFields(&reader)
                try fields.check(allowed: NewItem.fieldNames, known: WriteRequest.memberNames)
                return try NewItem(fields)
            }
        } catch let failure as JSONFields.Failure {
            throw refusal("\(failure.reason).")
        } catch {
            throw refusal("The line is not a JSON object: \(error).")
        }
    }

    private static func refusal(_ reason: String) -> UserFacingError {
        UserFacingError(
            .writeInvalid, reason, consequence: "Nothing was queued for it.",
            recoverySuggestion:
                "A line is a URL, or a JSON object with \(NewItem.fieldNames.joined(separator: ", ")).")
    }
}
