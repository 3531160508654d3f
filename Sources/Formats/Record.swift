import PRSNLCore

/// An entry of another program's file: its values by their names, whatever the syntax is. A column of CSV, a member of JSON
/// (`content.url`, and `tags.name` for each object of an array) and what a bookmark file says are named alike, so that one
/// table of forms (`ImportForm`) reads all three.
package struct Record: Sendable, Equatable {
    /// The line at which it begins; in a JSON array its number. From 1.
    package let position: Int
    /// By their names in lower case. No value is blank; a name may have none.
    private var values: [String: [String]] = [:]

    package init(at position: Int) { self.position = position }

    package mutating func add(_ name: String, _ value: String) {
        let value = value.trimmingWhiteSpace()
        values[name.lowercased(), default: []] += value.isEmpty ? [] : [value]
    }

    package subscript(_ name: String) -> [String] { values[name] ?? [] }

    package func first(of names: [String]) -> String? { names.lazy.compactMap { self[$0].first }.first }

    package var names: Set<String> { Set(values.keys) }
}

/// What a file has: entries, and places that cannot be read.
package enum RecordEvent: Sendable, Equatable {
    case record(Record)
    case unreadable(position: Int, reason: String)
}

/// RFC 4180. The first row names the columns. A quotation mark inside a field that has none around it is a letter.
package struct CSVReader {
    private let bytes: [UInt8]
    private let separator: UInt8
    private var at: Int
    private var line = 1
    /// In lower case.
    package private(set) var columns: [String] = []

    /// - Parameter bytes: UTF-8; a byte order mark is allowed.
    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
        at = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        // Some programs, and spreadsheets in some countries, part the columns otherwise.
        let first = bytes.prefix { $0 != 0x0A }
        separator =
            [UInt8(ascii: ","), UInt8(ascii: ";"), 0x09].max { left, right in
                first.count { $0 == left } < first.count { $0 == right }
            } ?? UInt8(ascii: ",")
        if case .success(let row)? = row() { columns = row.fields.map { $0.trimmingWhiteSpace().lowercased() } }
    }

    /// `nil` at the end.
    package mutating func next() -> RecordEvent? {
        while let row = row() {
            switch row {
            case .failure(let problem): return .unreadable(position: problem.line, reason: problem.reason)
            case .success(let row):
                guard !row.fields.allSatisfy(\.isEmpty) else { continue }
                guard row.fields.count <= columns.count else {
                    let reason = "\(row.fields.count) fields, and the first line names \(columns.count)"
                    return .unreadable(position: row.line, reason: reason)
                }
                var record = Record(at: row.line)
                for (name, value) in zip(columns, row.fields) { record.add(name, value) }
                return .record(record)
            }
        }
        return nil
    }

    private struct Problem: Error { let line: Int, reason: String }

    private mutating func row() -> Result<(line: Int, fields: [String]), Problem>? {
        guard at < bytes.count else { return nil }
        let (start, first) = (at, line)
        var fields: [String] = []
        var field: [UInt8] = []
        var isQuoted = false
        while at < bytes.count {
            let byte = bytes[at]
            at += 1
            if byte == 0x0A { line += 1 }
            switch byte {
            case UInt8(ascii: "\"") where isQuoted:
                let next = at < bytes.count ? bytes[at] : separator
                if next == byte {
                    field.append(byte)
                    at += 1
                } else if next == separator || next == 0x0A || next == 0x0D {
                    isQuoted = false
                } else {
                    return unreadable(from: start, first, "text behind a quotation mark")
                }
            case UInt8(ascii: "\"") where field.isEmpty: isQuoted = true
            case separator where !isQuoted:
                fields.append(String(decoding: field, as: UTF8.self))
                field.removeAll(keepingCapacity: true)
            case 0x0A where !isQuoted:
                if field.last == 0x0D { field.removeLast() }
                return .success((first, fields + [String(decoding: field, as: UTF8.self)]))
            default: field.append(byte)
            }
        }
        guard isQuoted else { return .success((first, fields + [String(decoding: field, as: UTF8.self)])) }
        return unreadable(from: start, first, "a quotation mark is not closed")
    }

    /// What follows is not taken for a part of it: the next line may be whole.
    private mutating func unreadable(
        from start: Int, _ first: Int, _ reason: String
    ) -> Result<(line: Int, fields: [String]), Problem> {
        at = bytes[start...].firstIndex(of: 0x0A).map { $0 + 1 } ?? bytes.count
        line = first + 1
        return .failure(Problem(line: first, reason: reason))
    }
}
