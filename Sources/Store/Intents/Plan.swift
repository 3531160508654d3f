package import PRSNLCore

/// The one next step for an item. The policy of what is sent, waited for and asked about is here, and nowhere else.
package enum Step: Sendable, Equatable {
    /// Ask the server whether a creation was applied.
    case lookUp
    case create(NewItem, covers: Int64)
    /// Ask the server for the item.
    case read
    /// Only these fields, tags as the whole list.
    case edit(ItemEdit, covers: Int64)
    case delete(covers: Int64)
    case wait(until: Timestamp)
    /// The server has the field as intents up to this one ask for it.
    case confirm(ItemField, Int64)
    /// A person decides about the field.
    case ask(ItemField, Target.Reason)
    /// A deletion was asked for under the local id, and the item was there before: it was not meant, and neither is anything else
    /// that was asked for up to then.
    case withdraw(upTo: Int64)
    /// Nothing is open.
    case settled
}

/// What to do next about an item, by what is asked for and not confirmed (`desired`), what is known to be (`target`), and what the server has just
/// answered. Pure: the same arguments give the same step.
package struct Plan {
    private var desired: Desired
    let target: Target
    let reading: Reading?
    let now: Timestamp
    /// For which a request that was not answered can still be applied.
    let interval: Duration

    /// So often is a value sent that the server does not keep.
    package static let mostTries = 8
    /// An item that the server still works on is asked for again after this.
    static let processingPause: Duration = .seconds(60)

    package init(_ desired: Desired, _ target: Target, _ reading: Reading?, now: Timestamp, interval: Duration) {
        self.desired = desired
        // Said with a URL, it went along with the creation; of an item that was there before, nothing did.
        if case .known(_?) = target.identity {} else { self.desired.remark = nil }
        self.target = target
        self.reading = reading
        self.now = now
        self.interval = interval
    }

    package func next() -> Step {
        switch target.identity {
        case .doubted(let since):
            guard let since, now.duration(since: since) < interval else { return .lookUp }
            return .wait(until: since.advanced(by: interval))
        case .unsent:
            guard let item = desired.madeItem, desired.deletion == nil else { return .settled }
            return .create(item, covers: desired.last)
        case .gone:
            guard desired.deletion == nil, let field = target.open(desired).first else { return .settled }
            return .ask(field, .gone)
        case .known(let wasThereAt):
            guard let deletion = desired.deletion else { return edit() }
            return deletion <= wasThereAt ?? 0 ? .withdraw(upTo: deletion) : .delete(covers: deletion)
        }
    }

    // MARK: Fields

    private func edit() -> Step {
        let open = target.open(desired)
        guard !open.isEmpty else { return .settled }
        // What was read before the last attempt says nothing of what that has made.
        guard let reading, reading.at == now else { return .read }
        guard reading.isProcessed else { return .wait(until: now.advanced(by: Self.processingPause)) }
        var lacking = ItemEdit()
        var latest: Timestamp?
        for field in open {
            switch verdict(field, reading.fields) {
            case .isThere: return .confirm(field, desired.number(of: field) ?? 0)
            case .isLacking: lacking.set(field, from: desired.fields(over: reading.fields))
            case .mayChange(let end): latest = max(latest ?? end, end)
            case .needsPerson(let reason): return .ask(field, reason)
            }
        }
        if !lacking.isEmpty { return .edit(lacking, covers: desired.last) }
        return latest.map { .wait(until: $0) } ?? .settled
    }

    private enum Verdict {
        case isThere
        case isLacking
        /// It is there, and an earlier request that can still be applied would change it.
        case mayChange(until: Timestamp)
        case needsPerson(Target.Reason)
    }

    /// The table of docs/outbox.md.
    private func verdict(_ field: ItemField, _ theirs: ItemEdit) -> Verdict {
        let attempts = target.attempts.filter { $0.kind != .delete && ($0.sent.has(field) || $0.kind == .create) }
        let wanted = desired.fields(over: theirs)
        let lateEnd = attempts.filter { $0.outcome == .doubted }.map { $0.sentAt.advanced(by: interval) }.max()
        let mayChange = lateEnd.flatMap { $0 > now ? $0 : nil }
        let number = desired.number(of: field) ?? 0
        let wasTaken = attempts.contains { $0.outcome == .applied && $0.covers >= number }
        if wanted.isSame(field, as: theirs) || wasTaken && isMade(field, of: wanted, theirs) {
            return mayChange.map { .mayChange(until: $0) } ?? .isThere
        }
        let answered = attempts.count { $0.outcome == .applied && $0.kind == .edit && $0.covers >= number }
        if answered >= Self.mostTries { return .needsPerson(.notKept) }
        if field == .tags, wanted.tags?.count ?? 0 > WriteLimits.tagCount { return .needsPerson(.tooManyTags) }
        let replacement = desired.firstReplacement(field) ?? 0
        let isKnown =
            desired.wasSeen(field, theirs)
            || attempts.contains { attempt in
                // What a change of tags was applied to, nobody has seen who wants others in their place.
                attempt.covers >= replacement && attempt.before.isSame(field, as: theirs)
                    || isMade(field, of: attempt.sent, theirs)
            }
        if isKnown || isOfNobody(field, theirs) { return .isLacking }
        if attempts.contains(where: { $0.outcome == .doubted }) {
            // Perhaps another client's work on top of ours: what may yet come, is waited for.
            return mayChange.map { .mayChange(until: $0) } ?? .needsPerson(.conflict(theirs: theirs.only(field)))
        }
        // Changes of tags are applied to whatever others have made of the list.
        return field == .tags && desired.replacesTags == nil ? .isLacking : conflict(field, theirs)
    }

    /// The person has not seen what is there; with a creation there was nothing to see.
    private func conflict(_ field: ItemField, _ theirs: ItemEdit) -> Verdict {
        desired.isUnseen(field)
            ? .isLacking : .needsPerson(.conflict(theirs: theirs.only(field)))
    }

    /// Nothing, or a placeholder.
    private func isOfNobody(_ field: ItemField, _ theirs: ItemEdit) -> Bool {
        switch field {
        case .title: ServerText.isPlaceholder(theirs.title)
        case .summary: (theirs.summary ?? "").isEmpty
        case .tags: (theirs.tags ?? []).isEmpty
        }
    }

    /// Whether the server has made this of what it was sent: cleaned, cut, in lower case.
    private func isMade(_ field: ItemField, of sent: ItemEdit, _ theirs: ItemEdit) -> Bool {
        switch field {
        case .title: ServerText.isMade(theirs.title ?? "", of: sent.title ?? "")
        case .summary: ServerText.isMade(theirs.summary ?? "", of: sent.summary ?? "")
        case .tags: Tags.areSame((theirs.tags ?? []).map { $0.lowercased() }, (sent.tags ?? []).map { $0.lowercased() })
        }
    }
}

extension ServerText {
    /// Servers cut titles at some hundred characters.
    fileprivate static let shortestCut = 100

    fileprivate static func isMade(_ theirs: String, of ours: String) -> Bool {
        isSame(ours, theirs) || theirs.utf8.count >= shortestCut && ours.utf8.starts(with: theirs.utf8)
    }
}

extension ItemEdit {
    fileprivate func only(_ field: ItemField) -> ItemEdit {
        var edit = ItemEdit()
        edit.set(field, from: self)
        return edit
    }
}
