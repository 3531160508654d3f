/// New values of an item's fields. `nil` leaves a field as it is.
package struct ItemEdit: Sendable, Equatable {
    package var title: String?
    package var summary: String?
    /// All of the item's tags, not only new ones.
    package var tags: [String]?

    package init(title: String? = nil, summary: String? = nil, tags: [String]? = nil) {
        self.title = title
        self.summary = summary
        self.tags = tags
    }

    package var isEmpty: Bool { self == ItemEdit() }

    // MARK: As JSON

    package static let fieldNames = ["title", "summary", "tags"]

    package var fields: JSONFields {
        var fields = JSONFields()
        fields.add("title", title)
        fields.add("summary", summary)
        fields.add("tags", tags)
        return fields
    }

    package init(_ fields: JSONFields) throws(JSONFields.Failure) {
        self.init(
            title: try fields.text("title"), summary: try fields.text("summary"), tags: try fields.texts("tags"))
    }

    // MARK: Several edits

    /// The fields of `self`, as the other has them.
    package func sameFields(of other: ItemEdit) -> ItemEdit {
        ItemEdit(
            title: title == nil ? nil : other.title, summary: summary == nil ? nil : other.summary,
            tags: tags == nil ? nil : other.tags)
    }

    /// A later edit over an earlier one.
    package func overlaid(by later: ItemEdit) -> ItemEdit {
        ItemEdit(title: later.title ?? title, summary: later.summary ?? summary, tags: later.tags ?? tags)
    }

    /// Where `tags` are only those to be added: the same with all tags that the item then has.
    package func addingTags(to there: [String]?) -> ItemEdit {
        guard let tags else { return self }
        var edit = self
        edit.tags = Tags.set(there ?? []).union(Tags.set(tags)).sorted().map(\.text)
        return edit
    }

    /// Whether all that `part` sets is set to the same here.
    package func contains(_ part: ItemEdit) -> Bool {
        func isSame(_ part: String?, _ whole: String?) -> Bool {
            part == nil || part.map(ByteText.init) == whole.map(ByteText.init)
        }
        return isSame(part.title, title) && isSame(part.summary, summary)
            && (part.tags == nil || tags.map { Tags.areSame(part.tags ?? [], $0) } ?? false)
    }

    // MARK: Limits

    func checked(dialect: Dialect?) throws(UserFacingError) -> ItemEdit {
        if isEmpty { throw Refusal.of("edit", "no field is given; name a title, a summary or tags") }
        if let title { try Refusal.check(title: title) }
        if let summary { try Refusal.check("summary", summary, WriteLimits.summary) }
        var checked = self
        if let tags { checked.tags = try Tags.checked(tags, dialect: dialect) }
        return checked
    }
}
