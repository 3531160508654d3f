/// An item to create on the server: a captured URL, or a note (no URL).
///
/// A new field is a property here with its line in `fields`, `init(_:)` and, where it has a limit, `checked`. `WriteBody`
/// has the server's name for it.
package struct NewItem: Sendable, Equatable {
    package var url: String?
    package var title: String?
    /// A note's text. With a URL, a remark.
    package var note: String?
    package var tags: [String]
    /// The server's `content_type`, never `auto`, with which the current release fails.
    package var type: String
    /// Whether the server is asked to write a summary.
    package var summarize: Bool

    package init(
        url: String? = nil, title: String? = nil, note: String? = nil, tags: [String] = [], type: String? = nil,
        summarize: Bool = false
    ) {
        self.url = url
        self.title = title
        self.note = note
        self.tags = tags
        self.type = type ?? (url == nil ? "note" : "link")
        self.summarize = summarize
    }

    /// What people see as its title until the server has given it one: of a note without a title, its first line.
    package var shownTitle: String? {
        guard title == nil, url == nil, let note else { return title }
        return NoteTitle.derived(from: note).split(whereSeparator: \.isNewline).first.map(String.init)
    }

    // MARK: As JSON

    /// In the order in which people are told of them.
    package static let fieldNames = ["url", "title", "note", "tags", "type", "summarize"]

    package var fields: JSONFields {
        var fields = JSONFields()
        fields.add("url", url)
        fields.add("title", title)
        fields.add("note", note)
        if !tags.isEmpty { fields.add("tags", tags) }
        fields.add("type", type)
        if summarize { fields.add("summarize", .flag(true)) }
        return fields
    }

    package init(_ fields: JSONFields) throws(JSONFields.Failure) {
        self.init(
            url: try fields.text("url"), title: try fields.text("title"), note: try fields.text("note"),
            tags: try fields.texts("tags") ?? [], type: try fields.text("type"),
            summarize: try fields.flag("summarize") ?? false)
    }

    // MARK: Limits

    func checked(dialect: Dialect?) throws(UserFacingError) -> NewItem {
        guard url != nil || note != nil else { throw Refusal.of("url or note", "one of the two is needed") }
        if let url { try URLCheck.check(url) }
        if let title { try Refusal.check(title: title) }
        if let note {
            // The small server takes both in the same field.
            let isRemark = url != nil && dialect != .express
            try Refusal.check("note", note, isRemark ? WriteLimits.remark : WriteLimits.note)
            try Refusal.checkNotBlank("note", note)
        }
        try Self.check(type: type)
        var checked = self
        checked.tags = try Tags.checked(tags, dialect: dialect)
        if dialect == .express { try checked.checkExpressBody() }
        return checked
    }

    /// What the server takes of an item that came from elsewhere, so that no person can correct its values.
    ///
    /// - Returns: `leftOut`: what it does not take, in words.
    /// - Throws: `write_invalid` for what cannot be left out: the URL, and the text of a note.
    package func taken(dialect: Dialect?) throws(UserFacingError) -> (item: NewItem, leftOut: [String]) {
        var taken = self
        var leftOut: [String] = []
        if let title {
            do throws(UserFacingError) { try Refusal.check(title: title) } catch {
                taken.title = nil
                leftOut.append(error.message)
            }
        }
        taken.tags = []
        var others: [String] = []
        for tag in tags {
            do throws(UserFacingError) { taken.tags = try Tags.checked(taken.tags + [tag], dialect: dialect) } catch {
                others.append(SafeText.harmless(tag))
            }
        }
        if !others.isEmpty { leftOut.append("tags: \(others.joined(separator: ", "))") }
        do throws(UserFacingError) { return (try taken.checked(dialect: dialect), leftOut) } catch {
            guard url != nil, note != nil else { throw error }
            taken.note = nil
            return (try taken.checked(dialect: dialect), leftOut + [error.message])
        }
    }

    private static func check(type: String) throws(UserFacingError) {
        if WriteLimits.contentTypes.contains(type) { return }
        let names = WriteLimits.contentTypes.joined(separator: ", ")
        throw Refusal.of("type", "not one that the server knows", suggestion: "Name one of \(names).")
    }

    private func checkExpressBody() throws(UserFacingError) {
        // One byte of text is six of JSON at most (\u0001), the title may be sent for a part of the note or the URL, and
        // the tags are checked: nearly every item is small enough without writing it.
        let longest = 6 * (2 * (note?.utf8.count ?? 0) + (title?.utf8.count ?? 0) + 2 * (url?.utf8.count ?? 0))
        guard longest + 4_096 > WriteLimits.expressBody else { return }
        let size = WriteBody.create(self, dialect: .express).count
        guard size > WriteLimits.expressBody else { return }
        throw Refusal.of(
            note == nil ? "url" : "note",
            "the request would have \(Count.text(size, "byte")), at most \(Count.text(WriteLimits.expressBody)) are allowed by this server"
        )
    }

    // MARK: A repeated request

    /// Whether it was accepted from this one: repeated tags were removed on the way.
    package func isMade(of wanted: NewItem) -> Bool {
        var (made, wanted) = (self, wanted)
        let haveSameTags = Tags.areSame(made.tags, wanted.tags)
        (made.tags, wanted.tags) = ([], [])
        return haveSameTags && made.fields.json.utf8.elementsEqual(wanted.fields.json.utf8)
    }
}

/// The title that servers give a note when they have processed it, in place of the one that it was captured with.
///
/// Characters are Unicode scalars and white space is what Python takes for it, because that is what servers count with.
package enum NoteTitle {
    static let firstLine = 10...100
    static let cutAfter = 80

    /// The contract's form: the first line where that has 10 to 100 characters, else the first 80 characters of the
    /// trimmed text. Empty only for a text of nothing but white space.
    package static func derived(from text: String) -> String {
        let trimmed = text.trimmingWhiteSpace()
        return usableFirstLine(of: trimmed) ?? String(trimmed.unicodeScalars.prefix(cutAfter))
    }

    /// Whether a server may have made this title of that text.
    ///
    /// Releases differ in what they do without a usable first line: some cut the text as it came and not the trimmed
    /// one, some trim what they have cut, some add "..." unless it ends with a full stop, and some keep a text of up to
    /// 100 characters whole. A note that is taken for another one only because of these three dots would be sent twice.
    package static func isDerived(_ title: String, from text: String) -> Bool {
        let trimmed = text.trimmingWhiteSpace()
        if let line = usableFirstLine(of: trimmed) { return same(title, line) }
        if same(title, trimmed) { return trimmed.unicodeScalars.count <= firstLine.upperBound }
        for source in [trimmed, text] {
            let cut = String(source.unicodeScalars.prefix(cutAfter))
            let tidy = cut.trimmingWhiteSpace()
            if same(title, cut) || same(title, tidy) || same(title, tidy + "...") { return true }
        }
        return false
    }

    private static func usableFirstLine(of trimmed: String) -> String? {
        // By scalars: "\r\n" is one Character, and none of it is a "\n".
        let line = String(trimmed.unicodeScalars.prefix { $0 != "\n" }).trimmingWhiteSpace()
        return firstLine.contains(line.unicodeScalars.count) ? line : nil
    }

    /// By scalars, as servers compare: `==` also takes other spellings of an accented letter for the same.
    private static func same(_ left: String, _ right: String) -> Bool { left.utf8.elementsEqual(right.utf8) }
}

extension Unicode.Scalar {
    /// What Python's `str.strip` removes: Unicode's white space, and the four ASCII separators.
    package var isStrippedByServers: Bool {
        // Nearly every scalar that is asked about is ASCII. The table of properties is slow.
        if value < 0x80 { return value == 0x20 || (0x09...0x0D).contains(value) || (0x1C...0x1F).contains(value) }
        return properties.isWhitespace
    }
}

extension String {
    /// Without white space at either end, as servers trim a note's text.
    package func trimmingWhiteSpace() -> String { String(unicodeScalars.trimming(\.isStrippedByServers)) }
}
