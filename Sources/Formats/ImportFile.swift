package import PRSNLCore

/// What a file of another service has. Its kind is told from its content.
package struct ImportFile: Sendable {
    /// For people: "part_000001.csv, line 7".
    package typealias Problem = (place: String, reason: String)

    /// Names of forms, each once.
    package private(set) var forms: [String] = []
    package private(set) var files = 1
    package private(set) var items: [(item: ImportedItem, place: String)] = []
    package private(set) var problems: [Problem] = []
    /// Which files of the same folder are not read, and why.
    package var others: [String] = []

    package mutating func add(_ other: ImportFile) {
        forms += other.forms.filter { !forms.contains($0) }
        files += other.files
        items += other.items
        problems += other.problems
    }

    package mutating func refuse(_ place: String, _ reason: String) { problems.append((place, reason)) }

    package static func refusal(_ message: String, _ suggestion: Advice? = nil) -> UserFacingError {
        UserFacingError(
            .importUnreadable, message, consequence: "Nothing was queued.", recoverySuggestion: suggestion)
    }

    /// - Parameter name: of the file, for people.
    /// - Throws: `import_unreadable`; `library_missing`.
    package init(_ bytes: [UInt8], _ name: String) throws(UserFacingError) {
        if bytes.starts(with: Array("PK\u{3}\u{4}".utf8)) {
            throw Self.refusal("\(name) is a ZIP file.", "Unpack it, and name the folder.")
        }
        if bytes.isEmpty { throw Self.refusal("\(name) is empty.") }
        if bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) {
            throw Self.refusal("\(name) is UTF-16.", "Convert it: `iconv -f UTF-16 -t UTF-8 FILE >NEW`.")
        }
        if bytes.contains(0) { throw Self.refusal("\(name) is no text.") }
        let start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        if String(validating: bytes, as: UTF8.self) == nil {
            let lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false)
            let line = lines.firstIndex { String(validating: $0, as: UTF8.self) == nil } ?? 0
            throw Self.refusal(
                "\(name) is not UTF-8, in line \(line + 1).",
                "Convert it: `iconv -f WINDOWS-1252 -t UTF-8 FILE >NEW`, or what else it was written in.")
        }
        let first = bytes[start...].first { !" \t\r\n".utf8.contains($0) }
        let line = Array(bytes[start...].drop { " \t\r\n".utf8.contains($0) }.prefix { $0 != 0x0A })
        if first == UInt8(ascii: "<") {
            var records = Records(.bookmarks)
            try BookmarkRecords.read(bytes) { records.take($0) }
            try add(records, name, "link")
        } else if first == UInt8(ascii: "[") || first == UInt8(ascii: "{"), !Self.isWhole(line, of: bytes) {
            var records = Records(.json)
            JSONRecords.read(Array(bytes[start...])) { records.take($0) }
            try add(records, name, "entry")
        } else {
            var rows = CSVReader(bytes)
            guard rows.columns.contains("url") else {
                try addLines(bytes, name)
                return
            }
            var records = Records(.csv)
            records.form = ImportForm.of(.csv, names: Set(rows.columns))
            while let event = rows.next() { records.take(event) }
            try add(records, name, "line")
        }
    }

    /// Whether a line is an object of its own, with more behind it.
    private static func isWhole(_ line: [UInt8], of bytes: [UInt8]) -> Bool {
        line.first == UInt8(ascii: "{") && line.count + 2 < bytes.count
            && (try? JSONReader.read(whole: line) { try $0.skip() }) != nil
    }

    /// The entries of one file. Which form it has shows in the first one.
    private struct Records {
        let syntax: ImportForm.Syntax
        var form: ImportForm?
        var items: [ImportedItem] = []
        var problems: [(position: Int, reason: String)] = []

        init(_ syntax: ImportForm.Syntax) { self.syntax = syntax }

        mutating func take(_ event: RecordEvent) {
            switch event {
            case .record(let record):
                form = form ?? ImportForm.of(syntax, names: record.names)
                if let form { items.append(form.item(record)) }
            case .unreadable(let position, let reason): problems.append((position, reason))
            }
        }
    }

    private mutating func add(_ records: Records, _ name: String, _ unit: String) throws(UserFacingError) {
        guard let form = records.form else {
            if let problem = records.problems.first { throw Self.refusal("\(name): \(problem.reason).") }
            throw Self.refusal("\(name) has no entries of a known form.")
        }
        forms = [form.name]
        items = records.items.map { ($0, "\(name), \(unit) \($0.position)") }
        problems = records.problems.map { ("\(name), \(unit) \($0.position)", $0.reason) }
    }

    /// URLs, and objects as `capture --stdin` takes them.
    private mutating func addLines(_ bytes: [UInt8], _ name: String) throws(UserFacingError) {
        var found = 0
        for (index, line) in bytes.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
            let place = "\(name), line \(index + 1)"
            do throws(UserFacingError) {
                guard let line = try CaptureLine.item(Array(line), isFirst: index == 0) else { continue }
                var item = ImportedItem(position: index + 1)
                (item.url, item.title, item.note) = (line.url, line.title, line.note)
                (item.tags, item.type) = (line.tags, line.type)
                items.append((item, place))
                if item.note != nil || item.url.map(URLCheck.isOfPage) == true { found += 1 }
            } catch { refuse(place, error.message) }
        }
        guard found > 0 else {
            throw Self.refusal(
                "\(name) is of no known form.",
                "A bookmark file, CSV with a column `url`, JSON, or a list with a URL in each line can be read.")
        }
        forms = ["a list"]
    }
}
