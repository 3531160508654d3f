import PRSNLClient
import PRSNLCore

/// An edit against what the server has now, field by field.
enum EditComparison: Sendable, Equatable {
    /// The server has all of it already.
    case done
    /// Nobody has changed these fields since the edit was made.
    case send
    /// Somebody has; `theirs` is what the server has in the edited fields.
    case conflict(theirs: ItemEdit)

    /// What the server itself makes of a text, and the placeholder that it fills in, are no change.
    ///
    /// - Parameter base: What the fields were when the edit was made; `nil` where that was not known.
    init(_ edit: ItemEdit, base: ItemEdit?, theirs: ItemEdit) {
        var isDone = true
        var isConflict = false
        func compare(_ isOurs: Bool?, isBase: @autoclosure () -> Bool) {
            guard isOurs == false else { return }
            isDone = false
            if base != nil, !isBase() { isConflict = true }
        }
        compare(
            edit.title.map { ServerText.isSame($0, theirs.title) },
            isBase: ServerText.isPlaceholder(base?.title) || ServerText.isSame(base?.title, theirs.title))
        // No summary and an empty one are the same to a reader.
        compare(
            edit.summary.map { ServerText.isSame($0, theirs.summary) },
            isBase: ServerText.isSame(base?.summary, theirs.summary))
        compare(
            edit.tags.map { Self.tags($0) == Self.tags(theirs.tags) },
            isBase: Self.tags(base?.tags) == Self.tags(theirs.tags))
        self = isDone ? .done : isConflict ? .conflict(theirs: theirs.fields(of: edit)) : .send
    }

    private static func tags(_ tags: [String]?) -> Set<ByteText> { Set((tags ?? []).map(ByteText.init)) }
}

extension ItemEdit {
    init(_ item: ItemDetail) {
        self.init(title: item.title, summary: item.summary, tags: item.tags)
    }

    /// Only the fields that the other has.
    func fields(of other: ItemEdit) -> ItemEdit {
        ItemEdit(
            title: other.title == nil ? nil : title, summary: other.summary == nil ? nil : summary,
            tags: other.tags == nil ? nil : tags)
    }
}
