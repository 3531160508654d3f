import PRSNLClient
import PRSNLCore
import Store

/// Tells from the newest items whether a creation was applied: a value that is given what was found and says what it means.
struct CreationSearch: Sendable {
    /// An item that was not there before the send and could be it.
    struct Candidate: Sendable, Equatable {
        var item: TimelineItem
        /// The text that the server has for it; `nil` where it has none yet, or never shows it.
        var content: String?
    }

    enum Finding: Sendable, Equatable {
        case found(id: String)
        case absent
        /// The server is still working on what could be it.
        case unsettled
        /// Several could be it, or one whose text is another although its title says that it is ours.
        case ambiguous
    }

    let item: NewItem
    let evidence: SendEvidence

    /// The clock that writes the Date header, a proxy's perhaps, and the one that stamps items may differ. What was there
    /// before is told apart by its id.
    private static let tolerance: Duration = .seconds(600)

    /// How far down the newest items are to be read: nothing older can be it.
    var oldest: Timestamp {
        max(evidence.serverTime.advanced(by: .zero - Self.tolerance), evidence.knownDownTo ?? .earliest)
    }

    /// Whether the item was not there before the send, by what is known of that moment, and has what we sent with it.
    func isCandidate(_ other: TimelineItem) -> Bool {
        guard other.createdAt >= oldest, !evidence.knownIDs.contains(other.id) else { return false }
        if let url = item.url { return other.url == url || other.url == url + "/" }
        guard (other.url ?? "").isEmpty else { return false }
        return Set(item.tags).isSubset(of: TagText.parse(other.tags))
    }

    /// Whether only the text can tell: titles are derived from it and easily the same.
    var needsContent: Bool { item.url == nil }

    func finding(_ candidates: [Candidate]) -> Finding {
        if item.url != nil {
            // The same URL is the same item: the oldest is the one that this send made, others are somebody's repeats.
            guard let first = candidates.min(by: { $0.item.createdAt < $1.item.createdAt }) else { return .absent }
            return .found(id: first.item.id)
        }
        let text = (item.note ?? "").trimmingWhiteSpace()
        var matches: [String] = []
        var isUnsettled = false
        var isDoubtful = false
        for candidate in candidates {
            if let content = candidate.content, !content.isEmpty {
                if content.trimmingWhiteSpace() == text {
                    matches.append(candidate.item.id)
                } else if hasOurTitle(candidate.item) {
                    isDoubtful = true  // rewritten by the server, or another note that begins the same way
                }
            } else if candidate.item.status == TimelineItem.pendingStatus {
                isUnsettled = true
            } else if hasDerivedTitle(candidate.item) {
                matches.append(candidate.item.id)
            } else {
                // Any number of notes may be called "Groceries": to take another one for ours would lose ours. And one of
                // another title may be ours, and retitled elsewhere: to take it for another would double ours.
                isDoubtful = true
            }
        }
        if matches.count == 1, !isUnsettled { return .found(id: matches[0]) }
        if isUnsettled { return .unsettled }
        return matches.isEmpty && !isDoubtful ? .absent : .ambiguous
    }

    /// As the person named it, or as a server would.
    private func hasOurTitle(_ other: TimelineItem) -> Bool {
        hasDerivedTitle(other) || item.title != nil && other.title == item.title
    }

    private func hasDerivedTitle(_ other: TimelineItem) -> Bool {
        other.title.map { NoteTitle.isDerived($0, from: item.note ?? "") } ?? false
    }
}

/// How a search reads tags.
enum TagText {
    static func parse(_ json: String?) -> Set<String> {
        guard let json else { return [] }
        do {
            return try JSONReader.read(Array(json.utf8)) { reader in
                var tags: Set<String> = []
                try reader.array { reader in tags.insert(try reader.string()) }
                return tags
            }
        } catch {
            return []  // not a list: the server's own form, of which nothing is known
        }
    }
}
