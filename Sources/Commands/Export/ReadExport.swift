import Formats
import Glibc
import PRSNLCore
import Store

/// `prsnlctl export` to what people and other programs read: a book, pages, a bookmark file, CSV or a feed. Each item is read in a
/// transaction of its own, the newest first.
struct ReadExport {
    let reader: StoreReader
    private var origin: ExportOrigin
    private let items: [(createdAt: Timestamp, id: String)]

    /// Called with how many of how many items are written.
    typealias OnItem = (Int, Int) -> Void

    /// Where the changes of the copy were before the items were read; `nil` for a file without changes.
    private let place: ChangePlace?

    /// - Parameter last: only what has come since that book.
    /// - Throws: `export_mismatch` where the copy has no items at all: a copy that was begun again replaces nothing.
    init(
        _ reader: StoreReader, _ choice: ExportChoice?, since last: LastBook? = nil
    ) throws(UserFacingError) {
        self.reader = reader
        origin = try reader.exportOrigin()
        origin.query = choice?.query
        if let last, last.query != LastBook.mark(of: origin.query) {
            throw UserFacingError(
                .exportMismatch, "The book that is there is of another search.", consequence: "It stays as it is.",
                recoverySuggestion: "Name another file.")
        }
        place = try Self.place(reader)
        let added = try last.flatMap { last throws(UserFacingError) in try last.added(reader) }
        var items: [(createdAt: Timestamp, id: String)] = []
        var isEmpty = true
        try reader.exportRows { row in
            isEmpty = false
            let id = ByteText(row.id)
            guard choice?.ids.contains(id) ?? true, last?.isNew(row, added) ?? true else { return }
            items.append((row.createdAt, row.id))
        }
        if isEmpty {
            throw UserFacingError(
                .exportMismatch, "The copy has no items.", consequence: "No file was touched.",
                recoverySuggestion: "Look at `prsnlctl status`: the copy may be a new one.")
        }
        self.items = items.sorted { ($0.createdAt, ByteText($0.id)) > ($1.createdAt, ByteText($1.id)) }
    }

    private static func place(_ reader: StoreReader) throws(UserFacingError) -> ChangePlace? {
        do throws(UserFacingError) {
            guard case .changes(_, let epoch, let newest) = try reader.changes(after: nil, limit: 0) else { return nil }
            return ChangePlace(epoch: epoch, seq: newest)
        } catch {
            guard error.code == .changesUnavailable else { throw error }
            return nil
        }
    }

    private var identifier: String { "urn:prsnld:\(origin.mark)" }
    private var title: String { origin.query.map { "PRSNL: \($0)" } ?? "PRSNL" }
    private var newest: Timestamp { items.first?.createdAt ?? .earliest }

    private func forEach(_ onItem: OnItem, _ body: (ReadItem) throws -> Void) throws {
        for (index, item) in items.enumerated() {
            onItem(index, items.count)
            // One that has gone meanwhile is left out.
            guard let shown = try reader.exportItem(item.id)?.shown else { continue }
            try body(ReadItem(shown))
        }
    }

    // MARK: A file

    func book(_ path: String, _ onItem: OnItem) throws(UserFacingError) -> ExportReport {
        guard !items.isEmpty else { return ExportReport(format: .epub, folder: path) }
        // Of most texts, as far as that is known.
        let language = getenv("LANG").map { String(cString: $0).prefix { $0.isASCII && $0.isLetter } }
        return try FileExport.run(path, .epub) { file throws(UserFacingError) in
            try LastBook(file) != nil
        } _: { file in
            var count = 0
            var book = try EPUBWriter(
                title: title, identifier: "\(identifier):\(newest.microseconds)",
                language: language.flatMap { [2, 3].contains($0.count) ? String($0) : nil } ?? "en", modified: newest,
                chapters: items.count
            ) { try file.write($0) }
            try forEach(onItem) { item in
                try book.add(item)
                count += 1
            }
            try book.end(comment: LastBook(newest, LastBook.mark(of: origin.query), place).text)
            return count
        }
    }

    func links(
        _ path: String, _ form: LinkForm, _ format: ExportReport.Format, _ onItem: OnItem
    ) throws(UserFacingError) -> ExportReport {
        guard !items.isEmpty else { return ExportReport(format: format, folder: path) }
        var report = try FileExport.run(path, format) { file throws(UserFacingError) in
            try file.read(atMost: form.start.utf8.count) == Array(form.start.utf8)
        } _: { file in
            var count = 0
            try file.write(Array(form.head(title: title, identifier: identifier, updated: newest).utf8))
            try forEach(onItem) { item in
                guard item.address != nil || form.takesNotes else { return }
                try file.write(Array(form.entry(item, of: identifier).utf8))
                count += 1
            }
            try file.write(Array(form.tail.utf8))
            return count
        }
        report.leftOut = items.count - report.items
        return report
    }

    // MARK: A folder

    func pages(_ path: String, _ choice: ExportChoice?, _ onItem: OnItem) throws(UserFacingError) -> ExportReport {
        try ExportFolder.run(in: path, of: origin, choice) { folder throws(UserFacingError) in
            var report = ExportReport(format: .html, folder: path)
            var written: Set<String> = []
            do {
                let isOwn = try folder.files.open("style.css").map { try $0.read(atMost: 100) }.map {
                    String(decoding: $0, as: UTF8.self).contains(WebPages.mark)
                }
                guard try isOwn ?? folder.files.entries().allSatisfy({ $0.name.hasPrefix(".") }) else {
                    throw UserFacingError(
                        .exportFolder, "\(path) has other files.", consequence: "It stays as it is.",
                        recoverySuggestion: "Name a new folder, or one that has such pages.")
                }
                try folder.saveOrigin()
                var pages = try WebPages(title: title) { name, text in
                    written.insert(name)
                    if try folder.replace(name, by: Array(text.utf8)) {
                        report.written += 1
                    } else {
                        report.unchanged += 1
                    }
                }
                try forEach(onItem) { item in
                    try pages.add(item)
                    report.items += 1
                }
                try pages.end()
                for (inner, prefix) in [(folder.files, ""), (try folder.files.folder("items"), "items/")] {
                    for entry in try inner.entries() where entry.isFile && !written.contains(prefix + entry.name) {
                        guard Self.isPage(prefix + entry.name) else { continue }
                        try inner.remove(entry.name)
                        report.removed += 1
                    }
                }
            } catch { throw error as? UserFacingError ?? UserFacingError(.exportFolder, "\(error)") }
            return report
        }
    }

    /// Whether the export itself may have made it. What a person puts beside the pages stays.
    private static func isPage(_ name: String) -> Bool {
        name.wholeMatch(of: /(items\/[0-9a-f]{32}|tag-[0-9a-f]{32}|month-\d{4}-\d{2})\.html|words-\d+\.js/) != nil
    }
}

/// What a book says in its last bytes, for `--since last`.
struct LastBook {
    /// Of its newest item.
    let newest: Timestamp
    /// Of what search it is.
    let query: String
    let place: ChangePlace?

    private static let mark = "PRSNL until "
    static func mark(of query: String?) -> String { query.map { Fingerprint($0).hexadecimal } ?? "all" }

    init(_ newest: Timestamp, _ query: String, _ place: ChangePlace?) {
        (self.newest, self.query, self.place) = (newest, query, place)
    }

    var text: String { "\(Self.mark)\(newest) \(query) \(place?.description ?? "")" }

    /// `nil` where there is none, or another program's.
    init?(_ path: String) throws(UserFacingError) {
        let folder = try OpenFolder(named: Descriptors.folder(of: path))
        guard let file = try folder.open(FileExport.name(path)) else { return nil }
        try self.init(file)
    }

    init?(_ file: OpenFile) throws(UserFacingError) {
        // A comment has no length of its own that could be read from the end.
        let end = String(decoding: try file.readEnd(atMost: 200), as: UTF8.self)
        guard let start = end.firstRange(of: Self.mark) else { return nil }
        let words = end[start.upperBound...].split(separator: " ")
        guard words.count > 1, let newest = Timestamp(words[0]) else { return nil }
        self.init(newest, String(words[1]), words.count > 2 ? ChangePlace(String(words[2])) : nil)
    }

    /// The ids of the items that have come since; `nil` where that is not known any more.
    func added(_ reader: StoreReader) throws(UserFacingError) -> Set<ByteText>? {
        guard var place else { return nil }
        var added: Set<ByteText> = []
        while true {
            guard case .changes(let changes, _, _) = try reader.changes(after: place, limit: 1_000) else { return nil }
            guard let last = changes.last else { return added }
            for change in changes {
                guard let id = change.itemID.map(ByteText.init) else { continue }
                switch change.kind {
                case "added", "restored": added.insert(id)
                // It was made here, and is known by the server's id from now on.
                case "identified" where added.remove(id) != nil:
                    if let given = change.fields { added.insert(ByteText(given)) }
                default: continue
                }
            }
            place.seq = last.seq
        }
    }

    /// - Parameter added: without it, what was created later is new.
    func isNew(_ row: ExportRow, _ added: Set<ByteText>?) -> Bool {
        added.map { $0.contains(ByteText(row.id)) } ?? (row.createdAt > newest)
    }
}

extension ReadItem {
    fileprivate init(_ shown: ShownItem) {
        let item = shown.item
        // A text of characters that XML has no place for is none.
        func filled(_ text: String?) -> String? {
            text.flatMap { XML.escaped($0).trimmingWhiteSpace().isEmpty ? nil : $0 }
        }
        self.init(
            id: item.id, title: filled(item.title) ?? filled(item.url) ?? "Untitled",
            address: item.url.flatMap { URLCheck.isOfPage($0) ? $0 : nil },
            createdAt: item.createdAt, updatedAt: item.updatedAt ?? item.createdAt, day: LocalTime(item.createdAt).day,
            tags: Tags.parse(item.tags) ?? [], summary: filled(item.summary),
            text: filled(shown.text.content) ?? filled(shown.text.transcription))
    }
}

extension ExportFolder {
    /// - Returns: false where the file is so already.
    fileprivate func replace(_ name: String, by bytes: [UInt8]) throws(UserFacingError) -> Bool {
        let parts = name.split(separator: "/").map(String.init)
        let inner = parts.count > 1 ? try files.folder(parts[0]) : files
        let last = parts[parts.count - 1]
        if let there = try inner.open(last) {
            if Int(try there.status().st_size) == bytes.count, try there.read(atMost: bytes.count) == bytes {
                return false
            }
            guard String(decoding: try there.read(atMost: 1_024), as: UTF8.self).contains(WebPages.mark) else {
                throw UserFacingError(
                    .exportFolder, "\(inner.place(last)) was not written by an export.",
                    consequence: "It stays as it is.",
                    recoverySuggestion: "Move it away, or name another folder.")
            }
        }
        try self.inner.rename(try write(bytes), to: inner, last)
        return true
    }
}
