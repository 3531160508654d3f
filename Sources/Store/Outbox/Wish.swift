import PRSNLCore

/// What people asked for of one item: a fold over all captures and edits of it, in the order in which they were accepted.
///
/// The last title counts. A capture adds its tags, and an edit's tags take the place of what came before it. In which order
/// the server took the writes does not matter.
struct Wish: Equatable {
    /// What one entry said.
    struct Word: Equatable {
        enum Standing: Equatable {
            /// An edit that is still to be sent, or that a person decides.
            case open
            /// The server had it. What others have changed since is not undone.
            case delivered
            /// It was delivered, and the server may lack some of it.
            case unverified
        }

        var entry: Int64
        var isCreation: Bool
        var standing: Standing
        /// `summary` of a creation: its remark, where the item was there before.
        var said: ItemEdit
    }

    /// What follows as an edit.
    struct FollowUp: Equatable {
        /// Its tags are added to those that are there.
        var edit = ItemEdit()
        /// Whose words these are.
        var entries: Set<Int64> = []

        var isEmpty: Bool { edit.isEmpty }
    }

    /// In the order of acceptance.
    var words: [Word]

    /// What the server lacks once the open edits are delivered.
    ///
    /// - Parameter theirs: What it has now.
    func lacking(in theirs: ItemEdit) -> FollowUp {
        var lacking = FollowUp()
        if let last = words.last(where: { $0.said.title != nil }), last.standing == .unverified,
            !ServerText.isSame(last.said.title, theirs.title)
        {
            lacking.edit.title = last.said.title
            lacking.entries.insert(last.entry)
        }
        // A remark is no edit of a summary.
        let summaries = words.filter { $0.said.summary != nil }
        if let last = summaries.last(where: { !$0.isCreation }) ?? summaries.last, last.standing == .unverified,
            !ServerText.isSame(last.said.summary, theirs.summary)
        {
            lacking.edit.summary = last.said.summary
            lacking.entries.insert(last.entry)
        }
        let replacing = words.lastIndex { !$0.isCreation && $0.said.tags != nil }
        var there = Tags.set(theirs.tags ?? [])
        if let replacing, words[replacing].standing == .open { there = Tags.set(words[replacing].said.tags ?? []) }
        var added: Set<ByteText> = []
        for word in words[(replacing.map { $0 + 1 } ?? 0)...] where word.standing == .unverified && word.isCreation {
            let missing = Tags.set(word.said.tags ?? []).subtracting(there)
            guard !missing.isEmpty else { continue }
            added.formUnion(missing)
            lacking.entries.insert(word.entry)
        }
        if !added.isEmpty { lacking.edit.tags = added.sorted().map(\.text) }
        return lacking
    }

    /// Of the words that the server may lack, those that it has, or that a later delivered word has replaced. An open edit can
    /// still be dropped, and then an earlier word counts again.
    func settled(in theirs: ItemEdit) -> [Int64] {
        let needed = lacking(in: theirs).entries
            .union(Wish(words: words.filter { $0.standing != .open }).lacking(in: theirs).entries)
        return words.filter { $0.standing == .unverified && !needed.contains($0.entry) }.map(\.entry)
    }

    /// The delivered words that an older edit has just replaced on the server.
    func replaced(by edit: ItemEdit, of entry: Int64) -> [Int64] {
        words.filter { word in
            guard word.entry > entry, word.standing == .delivered else { return false }
            return edit.title != nil && word.said.title != nil || edit.summary != nil && word.said.summary != nil
                || edit.tags != nil && word.isCreation && !(word.said.tags ?? []).isEmpty
        }.map(\.entry)
    }
}
