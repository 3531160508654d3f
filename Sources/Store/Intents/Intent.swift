package import PRSNLCore

/// What one write asks for of one item. Once accepted it is never changed, but withdrawn: by `undo`, or by `queue drop`.
/// All else about an item is computed from its intents (`Desired`).
package struct Intent: Sendable, Equatable {
    package enum Ask: Sendable, Equatable {
        case create(NewItem)
        case edit(ItemEdit)
        case delete
    }

    /// The number that people see: `#12`. In the order of acceptance.
    package var number: Int64
    /// The number of its command's first intent. A command is taken back as a whole.
    package var command: Int64
    package var ask: Ask
    /// What the person saw in the fields that it changes. `nil` where there was nothing to see: the item was not on the server yet,
    /// or that still worked on it.
    package var seen: ItemEdit?
    package var isWithdrawn = false
    /// The server has taken all of it: its fields are the server's again.
    package var isDelivered = false

    package init(
        number: Int64, command: Int64, ask: Ask, seen: ItemEdit? = nil, isWithdrawn: Bool = false,
        isDelivered: Bool = false
    ) {
        self.number = number
        self.command = command
        self.ask = ask
        self.seen = seen
        self.isWithdrawn = isWithdrawn
        self.isDelivered = isDelivered
    }
}

/// A field that is sent and confirmed by itself.
package enum ItemField: Sendable, Hashable, CaseIterable { case title, summary, tags }

/// What an item should be, by all that was asked for of it, in the order of acceptance: the one function that says so.
///
/// The last title and the last summary count. A creation adds its tags; an edit adds and removes some, or its tags take the place
/// of all before. After a deletion nothing of before is asked for. What is confirmed is not asked for any more: the field is
/// the server's again, and other clients may change it.
package struct Desired: Sendable, Equatable {
    /// A value, and the intent that asked for it.
    package struct Asked<Value: Sendable & Equatable>: Sendable, Equatable {
        package var value: Value
        package var by: Int64
    }

    private struct Seen: Sendable, Equatable {
        var field: ItemField
        var by: Int64
        /// `nil` where that is not known.
        var fields: ItemEdit?
        /// Whether the field gets another value, and is not a list of tags that is changed.
        var isReplaced: Bool
    }

    /// The creation that is sent: the first. Later ones of the same URL add to it.
    package private(set) var creation: Asked<NewItem>?
    package private(set) var deletion: Int64?
    package private(set) var title: Asked<String>?
    package private(set) var summary: Asked<String>?
    /// What was said with a URL. It becomes the summary of an item that has none.
    var remark: Asked<String>?
    /// The intent whose tags took the place of all before. What `tags` does not name is then not wanted.
    package private(set) var replacesTags: Int64?
    /// Each tag that was asked for, or to be taken away (`value` is false). The fold keeps what was to be taken away: whether the
    /// tag is there, and whether a request can still bring it, is not known here.
    package private(set) var tags: [ByteText: Asked<Bool>] = [:]
    /// What people saw of a field when they asked for it.
    private var seen: [Seen] = []
    /// The last intent.
    package private(set) var last: Int64 = 0

    /// - Parameters:
    ///   - intents: those of one item, in the order of acceptance.
    ///   - confirmed: by field, the intent up to which it is confirmed (`Target.confirmed`).
    package init(_ intents: [Intent], after confirmed: [ItemField: Int64] = [:]) {
        for intent in intents where !intent.isWithdrawn {
            let isOver = { (field: ItemField) in intent.isDelivered || intent.number <= confirmed[field] ?? 0 }
            let fields = ItemField.allCases.filter { intent.ask.concerns($0) && !isOver($0) }
            // What was asked for earlier and is delivered later does not take its place.
            release(ItemField.allCases.filter { intent.ask.concerns($0) && isOver($0) }, intent.ask)
            if !intent.isDelivered { take(intent.ask, intent.number, Set(fields)) }
            last = intent.number
            for field in fields {
                let isReplaced = field != .tags || intent.ask.replacesTags
                seen.append(Seen(field: field, by: intent.number, fields: intent.seen, isReplaced: isReplaced))
            }
        }
    }

    private mutating func take(_ ask: Intent.Ask, _ number: Int64, _ fields: Set<ItemField>) {
        switch ask {
        case .create(let item):
            // A new item.
            if deletion != nil { self = Desired([]) }
            creation = creation ?? Asked(value: item, by: number)
            if fields.contains(.title), let text = item.title { title = Asked(value: text, by: number) }
            if fields.contains(.summary), let note = item.note { remark = Asked(value: note, by: number) }
            if fields.contains(.tags) { set(item.tags, true, number) }
        case .edit(let edit):
            if fields.contains(.title), let text = edit.title { title = Asked(value: text, by: number) }
            if fields.contains(.summary), let text = edit.summary { summary = Asked(value: text, by: number) }
            guard fields.contains(.tags) else { return }
            if let all = edit.tags {
                (replacesTags, tags) = (number, [:])
                set(all, true, number)
            }
            set(edit.tagChange.removed, false, number)
            set(edit.tagChange.added, true, number)
        case .delete: deletion = number
        }
    }

    /// A delivered intent has decided these fields: what was asked for before it is not wanted any more.
    private mutating func release(_ fields: [ItemField], _ ask: Intent.Ask) {
        for field in fields {
            switch (field, ask) {
            case (.title, _): title = nil
            case (.summary, .edit): (summary, remark) = (nil, nil)
            case (.summary, _): remark = nil
            case (.tags, .create(let item)): release(TagChange(added: item.tags))
            case (.tags, .edit(let edit)) where edit.tags == nil: release(edit.tagChange)
            case (.tags, _): (replacesTags, tags) = (nil, [:])
            }
        }
    }

    private mutating func release(_ change: TagChange) {
        for tag in change.added + change.removed { tags[ByteText(tag)] = nil }
        // A list that was asked for before it, and is sent after it, keeps what it has added.
        if let replacesTags { set(change.added, true, replacesTags) }
    }

    private mutating func set(_ texts: [String], _ isWanted: Bool, _ number: Int64) {
        for text in texts { tags[ByteText(text)] = Asked(value: isWanted, by: number) }
    }

    // MARK: By field

    /// The intent that a field waits for; `nil` where nothing is asked for it.
    package func number(of field: ItemField) -> Int64? {
        switch field {
        case .title: title?.by
        case .summary: summary?.by ?? remark?.by
        case .tags: (tags.values.map(\.by) + [replacesTags].compactMap(\.self)).max()
        }
    }

    /// Whether somebody who asked for the field had this value before them.
    func wasSeen(_ field: ItemField, _ theirs: ItemEdit) -> Bool {
        seen.contains { $0.field == field && $0.fields?.isSame(field, as: theirs) == true }
    }

    /// Whether somebody who asked for it could not know what is there.
    func isUnseen(_ field: ItemField) -> Bool { seen.contains { $0.field == field && $0.fields == nil } }

    /// The first intent that puts another value in the place of what is there.
    func firstReplacement(_ field: ItemField) -> Int64? { seen.first { $0.field == field && $0.isReplaced }?.by }

    /// The fields that are asked for, over what the server has.
    func fields(over there: ItemEdit) -> ItemEdit {
        let isRemarkOver = summary == nil && !(there.summary ?? "").isEmpty
        return ItemEdit(
            title: title?.value, summary: isRemarkOver ? there.summary : summary?.value ?? remark?.value,
            tags: tags(over: there.tags ?? []))
    }

    private func tags(over there: [String]) -> [String] {
        let wanted = tags.filter(\.value.value).keys
        let rest = replacesTags == nil ? Tags.set(there).subtracting(tags.keys) : []
        return rest.union(wanted).sorted().map(\.text)
    }

    /// The fields that are asked for, as one edit: tags as a change, unless they take the place of all.
    package var edit: ItemEdit {
        var edit = ItemEdit(title: title?.value, summary: summary?.value)
        if replacesTags != nil {
            edit.tags = tags(over: [])
        } else {
            func texts(_ isWanted: Bool) -> [String] {
                tags.filter { $0.value.value == isWanted }.keys.sorted().map(\.text)
            }
            edit.tagChange = TagChange(added: texts(true), removed: texts(false))
        }
        return edit
    }

    /// Whether anything that the intent asks for is still wanted, and was not asked for anew by a later one.
    package func wants(_ number: Int64) -> Bool {
        title?.by == number || summary?.by == number || remark?.by == number || replacesTags == number
            || tags.contains { $0.value.by == number } || creation?.by == number || deletion == number
    }

    // MARK: The item

    /// What is sent to make it, with all that was asked for since. A new item takes no summary.
    var madeItem: NewItem? {
        guard var item = creation?.value else { return nil }
        (item.title, item.tags) = (title?.value, tags(over: []))
        return item
    }

    /// The item as people see it: the server's fields, and on top what waits. What a person decides about is the server's.
    ///
    /// - Returns: `nil` where it is to be deleted.
    package func shown(over there: ItemEdit, as target: Target) -> ItemEdit? {
        guard deletion == nil else { return nil }
        var shown = there
        shown.title = there.title ?? creation?.value.shownTitle
        for field in target.open(self) { shown.set(field, from: fields(over: there)) }
        return shown
    }
}

extension Intent.Ask {
    fileprivate var replacesTags: Bool { if case .edit(let edit) = self { edit.tags != nil } else { false } }

    package func concerns(_ field: ItemField) -> Bool {
        switch (self, field) {
        case (.delete, _): false
        case (.create(let item), .title): item.title != nil
        case (.create(let item), .summary): item.url != nil && item.note != nil
        case (.create(let item), .tags): !item.tags.isEmpty
        case (.edit(let edit), .title): edit.title != nil
        case (.edit(let edit), .summary): edit.summary != nil
        case (.edit(let edit), .tags): edit.tags != nil || !edit.tagChange.isEmpty
        }
    }
}

extension ItemEdit {
    package func has(_ field: ItemField) -> Bool {
        switch field {
        case .title: title != nil
        case .summary: summary != nil
        case .tags: tags != nil
        }
    }

    mutating func set(_ field: ItemField, from other: ItemEdit) {
        switch field {
        case .title: title = other.title
        case .summary: summary = other.summary
        case .tags: tags = other.tags
        }
    }

    /// Byte for byte. No summary and an empty one are the same to a reader, and tags are a set.
    package func isSame(_ field: ItemField, as other: ItemEdit) -> Bool {
        switch field {
        case .title: title.map(ByteText.init) == other.title.map(ByteText.init)
        case .summary: ByteText(summary ?? "") == ByteText(other.summary ?? "")
        case .tags: Tags.areSame(tags ?? [], other.tags ?? [])
        }
    }
}
