import PRSNLCore

/// What one write asks for of one item. Once accepted it is never changed. All else about an item is computed from its intents
/// (`Desired`).
struct Intent: Sendable, Equatable {
    enum Ask: Sendable, Equatable {
        case create(NewItem)
        case edit(ItemEdit)
        case delete

        /// Of a delivered write: without what follows it as an edit of its own. How far that is, and whether it still counts, is that
        /// edit's to say.
        func without(_ following: ItemEdit) -> Ask {
            let tags = Tags.set(following.tagChange.added)
            switch self {
            case .create(var item):
                if following.title != nil { item.title = nil }
                if following.summary != nil { item.note = nil }
                item.tags.removeAll { tags.contains(ByteText($0)) }
                return .create(item)
            case .edit(let edit):
                var rest = edit.without(ItemEdit(title: following.title, summary: following.summary))
                rest.tagChange.added.removeAll { tags.contains(ByteText($0)) }
                return .edit(rest)
            case .delete: return self
            }
        }
    }

    /// The number that people see: `#12`.
    var number: Int64
    var ask: Ask
    /// The server has taken all of it: its fields are the server's again.
    var isDelivered = false
    /// Its summary is what was said with a URL, and follows that one.
    var isRemark = false
}

/// What an item should be, by all that was asked for of it, in the order of acceptance: the one function that says so.
///
/// The last title and the last summary count. A creation adds its tags; an edit adds and removes some, or its tags take the place
/// of all before. After a deletion nothing of before is asked for. What is delivered is not asked for any more: the field is
/// the server's again, and other clients may change it.
struct Desired: Sendable, Equatable {
    /// A value, and the intent that asked for it.
    struct Asked<Value: Sendable & Equatable>: Sendable, Equatable {
        var value: Value
        var by: Int64
    }

    /// The creation that is sent: the first. Later ones of the same URL add to it.
    private(set) var creation: Asked<NewItem>?
    private(set) var deletion: Int64?
    private var title: Asked<String>?
    private var summary: Asked<String>?
    /// What was said with a URL, and no summary after it. It becomes the summary of an item that has none, and replaces none.
    private var remark: Asked<String>?
    /// The intent whose tags took the place of all before. What `tags` does not name is then not wanted.
    private var replacesTags: Int64?
    /// Each tag that was asked for, or to be taken away (`value` is false). The fold keeps what was to be taken away: whether the
    /// tag is there, and whether a request can still bring it, is not known here.
    private var tags: [ByteText: Asked<Bool>] = [:]

    /// - Parameter intents: those of one item that count, in the order of acceptance.
    init(_ intents: [Intent]) {
        for intent in intents {
            // What was asked for earlier and is delivered later does not take its place.
            if intent.isDelivered {
                release(intent.ask)
            } else {
                take(intent.ask, intent.number, isRemark: intent.isRemark)
            }
        }
    }

    private mutating func take(_ ask: Intent.Ask, _ number: Int64, isRemark: Bool) {
        switch ask {
        case .create(let item):
            // A new item.
            if deletion != nil { self = Desired([]) }
            creation = creation ?? Asked(value: item, by: number)
            if let text = item.title { title = Asked(value: text, by: number) }
            if item.url != nil, let note = item.note { remark = Asked(value: note, by: number) }
            set(item.tags, true, number)
        case .edit(let edit):
            if let text = edit.title { title = Asked(value: text, by: number) }
            if let text = edit.summary {
                if isRemark {
                    remark = Asked(value: text, by: number)
                } else {
                    (summary, remark) = (Asked(value: text, by: number), nil)
                }
            }
            if let all = edit.tags {
                (replacesTags, tags) = (number, [:])
                set(all, true, number)
            }
            set(edit.tagChange.removed, false, number)
            set(edit.tagChange.added, true, number)
        case .delete: deletion = number
        }
    }

    /// A delivered intent has decided its fields: what was asked for before it is not wanted any more.
    private mutating func release(_ ask: Intent.Ask) {
        switch ask {
        case .create(let item):
            if item.title != nil { title = nil }
            if item.url != nil, item.note != nil { remark = nil }
            release(TagChange(added: item.tags))
        case .edit(let edit):
            if edit.title != nil { title = nil }
            if edit.summary != nil { (summary, remark) = (nil, nil) }
            if edit.tags != nil { (replacesTags, tags) = (nil, [:]) }
            release(edit.tagChange)
        case .delete: break
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

    // MARK: What it comes to

    private func tags(_ isWanted: Bool) -> [String] {
        tags.filter { $0.value.value == isWanted }.keys.sorted().map(\.text)
    }

    /// The fields that are asked for, as one edit: tags as a change, unless they take the place of all.
    var edit: ItemEdit {
        var edit = ItemEdit(title: title?.value, summary: (summary ?? remark)?.value)
        if replacesTags != nil {
            edit.tags = tags(true)
        } else {
            edit.tagChange = TagChange(added: tags(true), removed: tags(false))
        }
        return edit
    }

    /// What is sent to make it, with all that was asked for since. A new item takes no summary.
    var madeItem: NewItem? {
        guard var item = creation?.value else { return nil }
        (item.title, item.tags) = (title?.value, tags(true))
        return item
    }

    /// Of what an intent asks for and no later one has decided, what is not there. Tags that it takes away are taken as gone.
    func lacking(of number: Int64, in theirs: ItemEdit) -> ItemEdit {
        var edit = ItemEdit()
        if let title, title.by == number, !ServerText.isSame(title.value, theirs.title) { edit.title = title.value }
        for asked in [summary, remark].compactMap(\.self)
        where asked.by == number && !ServerText.isSame(asked.value, theirs.summary) {
            edit.summary = asked.value
        }
        let there = Tags.set(theirs.tags ?? [])
        let missing = tags.filter { $0.value == Asked(value: true, by: number) && !there.contains($0.key) }
        edit.tagChange.added = missing.keys.sorted().map(\.text)
        return edit
    }

    /// Whether anything that the intent asks for is still wanted, and was not asked for again by a later one.
    func wants(_ number: Int64) -> Bool {
        title?.by == number || summary?.by == number || remark?.by == number || replacesTags == number
            || tags.contains { $0.value.by == number } || creation?.by == number || deletion == number
    }
}
