import PRSNLCore

// What becomes of a captured item.
extension ServerState {
    /// Counts a creation, and keeps what was asked for.
    mutating func created(_ capture: DevServer.Capture) {
        appliedWrites.created += 1
        captures.append(capture)
    }

    /// Captured items whose time has come. They are in the order in which they fall due, so that a long queue costs
    /// nothing.
    mutating func settleDue() {
        guard !unsettled.isEmpty, configuration.settling != .onCommand else { return }
        let now = now
        while let entry = unsettled.first {
            let isDue = entry.dueRequest.map { $0 <= timelineRequestCount } ?? entry.dueTime.map { $0 <= now } ?? false
            guard isDue else { return }
            unsettled.removeFirst()
            settle(entry)
        }
    }

    mutating func settleAll() {
        while let entry = unsettled.first {
            unsettled.removeFirst()
            settle(entry)
        }
    }

    /// A link gets a scraped title, the type `link`, and loses its content. A note's title becomes its first line or
    /// the first 80 characters, and its content is trimmed. Every seventh capture fails instead.
    private mutating func settle(_ entry: Unsettled) {
        let stamp = stamp
        let marksCutTitles = quirks.marksCutTitles
        let (squeezesText, rewritesText) = (quirks.squeezesText, quirks.rewritesText)
        items.change(entry.id, hidden: false) { item in
            item.updatedAt = stamp.updateTime(after: item.updatedAt, atLeast: .milliseconds(1))
            if entry.number.isMultiple(of: 7) {
                item.status = "failed"
                return
            }
            item.status = "completed"
            if let url = item.url {
                item.title = "Scraped: \(url)"
                item.type = "link"
                item.content = nil
            } else if let sent = item.hiddenContent {
                let content = rewritesText ? "In short: \(sent.lowercased()), and no more" : sent
                item.content =
                    squeezesText
                    ? content.split(whereSeparator: \.isWhitespace).joined(separator: " ")
                    : content.trimmingWhiteSpace()
                item.title = marksCutTitles ? content.titleWithDots : NoteTitle.derived(from: content)
            }
            item.hiddenContent = nil
        }
    }
}

/// A queue in an array: taking from the front moves nothing, until half of the array is empty.
struct Queue<Element: Sendable>: Sendable {
    private var storage: [Element?] = []
    private var head = 0

    var isEmpty: Bool { head == storage.count }
    var first: Element? { isEmpty ? nil : storage[head] }
    var elements: [Element] { storage[head...].compactMap(\.self) }

    mutating func append(_ element: Element) { storage.append(element) }

    mutating func changeAll(_ change: (inout Element) -> Void) {
        for index in storage.indices where storage[index] != nil { change(&storage[index]!) }
    }

    mutating func removeFirst() {
        storage[head] = nil
        head += 1
        if head > 32, head * 2 > storage.count {
            storage.removeFirst(head)
            head = 0
        }
    }
}

extension String {
    /// As a release of the main server does it: a text of more than 100 characters, trimmed or not, is cut untrimmed and
    /// gets three dots, a shorter one stays whole.
    fileprivate var titleWithDots: String {
        let derived = NoteTitle.derived(from: self)
        let trimmed = trimmingWhiteSpace()
        let line = String(trimmed.unicodeScalars.prefix { $0 != "\n" }).trimmingWhiteSpace()
        if (10...100).contains(line.unicodeScalars.count) { return derived }
        guard unicodeScalars.count > 100 else { return trimmed }
        let cut = String(unicodeScalars.prefix(80)).trimmingWhiteSpace()
        return cut.hasSuffix(".") ? cut : cut + "..."
    }
}
