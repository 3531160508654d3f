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
            try Refusal.check("note", note, url == nil ? WriteLimits.note : WriteLimits.remark)
            try Refusal.checkNotBlank("note", note)
        }
        try Self.check(type: type)
        var checked = self
        checked.tags = try Tags.checked(tags, dialect: dialect)
        if dialect == .express { try checked.checkExpressBody() }
        return checked
    }

    private static func check(type: String) throws(UserFacingError) {
        if WriteLimits.contentTypes.contains(type) { return }
        let names = WriteLimits.contentTypes.joined(separator: ", ")
        if type == "auto" {
            throw Refusal.of(
                "type", "auto is not sent, because the server's current release fails with it",
                suggestion: "Leave the type out (a URL is then a link, a text a note), or name one of \(names).")
        }
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
