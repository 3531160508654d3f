/// New values of an item's fields. `nil` leaves a field as it is.
package struct ItemEdit: Sendable, Equatable {
    package var title: String?
    package var summary: String?
    /// All of the item's tags, not only new ones.
    package var tags: [String]?
    /// Empty where `tags` says all.
    package var tagChange = TagChange()

    package init(
        title: String? = nil, summary: String? = nil, tags: [String]? = nil, tagChange: TagChange = TagChange()
    ) {
        self.title = title
        self.summary = summary
        self.tags = tags
        self.tagChange = tagChange
    }

    package var isEmpty: Bool { self == ItemEdit() }

    // MARK: As JSON

    package static let fieldNames = ["title", "summary", "tags", "add_tags", "remove_tags"]

    package var fields: JSONFields {
        var fields = JSONFields()
        fields.add("title", title)
        fields.add("summary", summary)
        fields.add("tags", tags)
        if !tagChange.added.isEmpty { fields.add("add_tags", tagChange.added) }
        if !tagChange.removed.isEmpty { fields.add("remove_tags", tagChange.removed) }
        return fields
    }

    package init(_ fields: JSONFields) throws(JSONFields.Failure) {
        self.init(
            title: try fields.text("title"), summary: try fields.text("summary"), tags: try fields.texts("tags"),
            tagChange: TagChange(
                added: try fields.texts("add_tags") ?? [], removed: try fields.texts("remove_tags") ?? []))
        if tags != nil, !tagChange.isEmpty {
            throw JSONFields.Failure("tags are all of the item's: add_tags and remove_tags do not belong beside them")
        }
    }

    // MARK: Several edits

    /// The fields of `self`, as the other has them. A change of tags says nothing of what they are.
    package func sameFields(of other: ItemEdit) -> ItemEdit {
        ItemEdit(
            title: title == nil ? nil : other.title, summary: summary == nil ? nil : other.summary,
            tags: tags == nil ? nil : other.tags)
    }

    package func overlaid(by later: ItemEdit) -> ItemEdit {
        var edit = ItemEdit(title: later.title ?? title, summary: later.summary ?? summary)
        if let tags = later.tags {
            edit.tags = tags
        } else if let tags {
            edit.tags = later.tagChange.applied(to: tags)
        } else {
            edit.tagChange = tagChange.followed(by: later.tagChange)
        }
        return edit
    }

    /// The same with all tags that the item has after it.
    ///
    /// - Parameter there: those that it has before.
    package func resolved(with there: [String]?) -> ItemEdit {
        guard !tagChange.isEmpty else { return self }
        return ItemEdit(title: title, summary: summary, tags: tagChange.applied(to: there ?? []))
    }

    /// Whether all that `part` sets is set to the same here.
    package func contains(_ part: ItemEdit) -> Bool {
        func isSame(_ part: String?, _ whole: String?) -> Bool {
            part == nil || part.map(ByteText.init) == whole.map(ByteText.init)
        }
        return isSame(part.title, title) && isSame(part.summary, summary)
            && (part.tags == nil || tags.map { Tags.areSame(part.tags ?? [], $0) } ?? false)
            && (tags.map { part.tagChange.isDone(in: $0) } ?? tagChange.contains(part.tagChange))
    }

    // MARK: Limits

    func checked(dialect: Dialect?) throws(UserFacingError) -> ItemEdit {
        if isEmpty { throw Refusal.of("edit", "no field is given; name a title, a summary or tags") }
        if let title { try Refusal.check(title: title) }
        if let summary { try Refusal.check("summary", summary, WriteLimits.summary) }
        var checked = self
        if let tags { checked.tags = try Tags.checked(tags, dialect: dialect) }
        checked.tagChange = try tagChange.checked(dialect: dialect)
        return checked
    }
}
