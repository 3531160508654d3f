package import PRSNLCore

/// One line of `capture --stdin`: a URL, or a JSON object with the members of a new item.
package enum CaptureLine: Sendable, Equatable {
    case blank
    case item(NewItem)
    /// Nothing is queued for it.
    case refused(UserFacingError)

    /// Bytes of a line, its end not counted: more than the longest note takes, whatever is escaped in it.
    package static let longest = 256 << 10

    /// - Parameter isFirst: A byte order mark may stand in front of the first line.
    package init(_ bytes: [UInt8], isFirst: Bool = false) {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            self = Self.refusal("The line is not UTF-8.")
            return
        }
        var rest = text[...].unicodeScalars
        if isFirst, rest.first == "\u{FEFF}" { rest = rest.dropFirst() }
        rest = rest.drop { $0.properties.isWhitespace }
        while rest.last?.properties.isWhitespace ?? false { rest = rest.dropLast() }
        guard let first = rest.first else {
            self = .blank
            return
        }
        let content = String(Substring(rest))
        self = first == "{" ? Self.object(content) : .item(NewItem(url: content))
    }

    package static let tooLong = refusal("The line is longer than \(longest >> 10) KiB.")

    private static func object(_ text: String) -> CaptureLine {
        do {
            return .item(
                try JSONReader.read(Array(text.utf8)) { reader in
                    let fields = try JSONFields(&reader)
                    try reader.end()
                    try fields.check(allowed: NewItem.fieldNames, known: WriteRequest.memberNames)
                    return try NewItem(fields)
                })
        } catch let failure as JSONFields.Failure {
            return refusal("\(failure.reason).")
        } catch let failure as JSONReader.Failure {
            return refusal("The line is not a JSON object: \(failure.description).")
        } catch {
            return refusal("The line cannot be understood.")
        }
    }

    private static func refusal(_ reason: String) -> CaptureLine {
        let names = NewItem.fieldNames.joined(separator: ", ")
        return .refused(
            UserFacingError(
                .writeInvalid, reason, consequence: "Nothing was queued for it.",
                recoverySuggestion: "A line is a URL, or a JSON object with \(names)."))
    }
}
