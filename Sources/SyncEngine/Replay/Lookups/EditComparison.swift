import PRSNLClient
import PRSNLCore

/// An edit against what the server has now, field by field.
enum EditComparison: Sendable, Equatable {
    /// The server has all of it already.
    case done
    /// These fields were not changed since the edit was made.
    case send
    /// Some were changed elsewhere. `theirs` is what the server has in these.
    case conflict(theirs: ItemEdit)

    /// What the server itself makes of a text that was sent, and the placeholder that it fills in, are no change.
    ///
    /// - Parameters:
    ///   - base: What the fields were when the edit was made; `nil` where that was not known.
    ///   - known: What else people here have seen in these fields, or have sent.
    ///   - wasSent: Then what the server has may be what it made of ours. Before, only the same bytes are the same: an edit may
    ///     change nothing but white space.
    init(_ edit: ItemEdit, base: ItemEdit?, known: [ItemEdit] = [], theirs: ItemEdit, wasSent: Bool) {
        var isDone = true
        var conflict = ItemEdit()
        let seen = [base].compactMap(\.self) + known
        func compare<Value>(
            _ field: WritableKeyPath<ItemEdit, Value?>, none: Value, _ isOurs: Bool?, isSame: (Value?, Value?) -> Bool
        ) {
            guard isOurs == false else { return }
            isDone = false
            guard let base, !isSame(base[keyPath: field], theirs[keyPath: field]),
                !known.contains(where: {
                    $0[keyPath: field] != nil && isSame($0[keyPath: field], theirs[keyPath: field])
                })
            else { return }
            conflict[keyPath: field] = theirs[keyPath: field] ?? none
        }
        func isOurs(_ ours: String, _ field: KeyPath<ItemEdit, String?>) -> Bool {
            let text = theirs[keyPath: field] ?? ""
            if ByteText(ours) == ByteText(text) { return true }
            guard wasSent, !seen.contains(where: { ByteText($0[keyPath: field] ?? "") == ByteText(text) }) else {
                return false
            }
            // Squeezed and cleaned, or cut: servers cut titles at some hundred characters.
            return ServerText.isSame(ours, text)
                || text.utf8.count >= 100 && ours.utf8.starts(with: text.utf8)
        }
        compare(\.title, none: "", edit.title.map { isOurs($0, \.title) }) {
            ServerText.isPlaceholder($0) || ServerText.isSame($0, $1)
        }
        // No summary and an empty one are the same to a reader.
        compare(\.summary, none: "", edit.summary.map { isOurs($0, \.summary) }) { ServerText.isSame($0, $1) }
        compare(\.tags, none: [], edit.tags.map { Self.tags($0) == Self.tags(theirs.tags) }) {
            Self.tags($0) == Self.tags($1)
        }
        self = isDone ? .done : conflict.isEmpty ? .send : .conflict(theirs: conflict)
    }

    /// Whether a field is still as it was before: a server that says so in its answer has not taken the edit, whatever the
    /// status of the answer.
    static func isIgnored(_ edit: ItemEdit, base: ItemEdit?, theirs: ItemEdit) -> Bool {
        guard let base else { return false }
        let texts: [KeyPath<ItemEdit, String?>] = [\.title, \.summary]
        let isTextIgnored = texts.contains { field in
            // A field that the answer lacks says nothing.
            guard let ours = edit[keyPath: field], let theirs = theirs[keyPath: field] else { return false }
            return !ServerText.isSame(ours, theirs) && ByteText(base[keyPath: field] ?? "") == ByteText(theirs)
        }
        return isTextIgnored
            || edit.tags != nil && theirs.tags != nil && tags(edit.tags) != tags(theirs.tags)
                && tags(base.tags) == tags(theirs.tags)
    }

    private static func tags(_ tags: [String]?) -> Set<ByteText> { Tags.set(tags ?? []) }
}

extension ItemEdit {
    /// What the server shows of an item. A summary that it fills in from its analysis is none, unless it is one of the
    /// `summaries`, which a person has written or its list has shown.
    init(_ item: ItemDetail, expecting summaries: [String?] = []) {
        let isFilledIn = item.isSummaryOfAnalysis && !summaries.contains { ServerText.isSame($0, item.summary) }
        self.init(title: item.title, summary: isFilledIn ? "" : item.summary, tags: item.tags)
    }
}
