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

    /// - Parameter base: What the fields were when the edit was made; `nil` where that was not known.
    init(_ edit: ItemEdit, base: ItemEdit?, theirs: ItemEdit) {
        var isDone = true
        var isConflict = false
        func compare<Value: Equatable>(_ ours: Value?, _ base: Value?, _ theirs: Value?, isBaseKnown: Bool) {
            guard let ours, ours != theirs else { return }
            isDone = false
            if isBaseKnown, theirs != base { isConflict = true }
        }
        compare(edit.title, base?.title, theirs.title, isBaseKnown: base != nil)
        // No summary and an empty one are the same to a reader.
        compare(edit.summary, base?.summary ?? "", theirs.summary ?? "", isBaseKnown: base != nil)
        compare(
            edit.tags.map(Set.init), Set(base?.tags ?? []), Set(theirs.tags ?? []), isBaseKnown: base != nil)
        self = isDone ? .done : isConflict ? .conflict(theirs: theirs.fields(of: edit)) : .send
    }
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
