import PRSNLCore

/// The JSON of a command as docs/cli.md shows it: what the command prints for a sample, on few lines.
///
/// Of an array there is one element, of a long text its beginning, of a time `TIME`, and of an error object nothing: the page
/// describes these once.
enum JSONExample {
    private static let width = 136

    static func lines(_ json: String) throws -> [String] {
        let text = try JSONReader.read(Array(json.utf8)) { reader throws in try value(&reader, isWhole: true) }
        var lines: [String] = []
        for part in text.split(separator: "\0") {
            if let last = lines.last, last.count + part.count < width, !part.hasPrefix("\n") {
                lines[lines.count - 1] = "\(last) \(part)"
            } else {
                lines.append((lines.isEmpty ? "    " : "     ") + part.drop { $0 == "\n" })
            }
        }
        return lines
    }

    /// A line may end at U+0000, and does before a larger member of the whole.
    private static func value(_ reader: inout JSONReader, isWhole: Bool = false) throws -> String {
        switch try reader.kind() {
        case .object:
            var members: [(name: String, text: String)] = []
            try reader.object { name, reader in members.append((name, try value(&reader))) }
            let names = Set(members.map(\.name))
            if !isWhole, names.isSuperset(of: ["heading", "recovery_suggestion"]) { return "{…}" }
            if isWhole { members.removeAll { $0.name == "schema_version" } }
            let shown = members.enumerated().map { number, member in
                (isWhole && number > 0 && member.text.count > 80 ? "\n" : "") + "\"\(member.name)\": \(member.text)"
            }
            return "{" + shown.joined(separator: ",\0") + "}"
        case .array:
            var elements: [String] = []
            try reader.array { reader in elements.append(try value(&reader)) }
            return "[" + elements.prefix(1).joined() + (elements.count > 1 ? ", …]" : "]")
        default:
            let text = reader.text(try reader.skip())
            if text.wholeMatch(of: /"\d{4}-\d\d-\d\dT[0-9:.]+Z"/) != nil { return "TIME" }
            return text.count > 44 ? text.prefix(40) + "…\"" : text
        }
    }
}
