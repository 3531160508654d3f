package import PRSNLCore

/// Progress on stderr: a bar that is rewritten in place on a terminal, a line every ten seconds elsewhere.
package struct ProgressDisplay: Sendable {
    let style: TextStyle
    let isQuiet: Bool
    private var hasBar = false
    private var last: ContinuousClock.Instant?
    private var meter: ProgressMeter?

    /// Where lines stay, in a log for instance, a few are enough, and none of short work.
    private static let linePause: Duration = .seconds(10)
    private static let barPause: Duration = .milliseconds(100)

    package init(style: TextStyle, isQuiet: Bool = false) {
        self.style = style
        self.isQuiet = isQuiet
    }

    package mutating func show(_ progress: Progress) {
        guard let text = text(progress, at: .now) else { return }
        // CSI K: the rest of the line, from a longer bar before.
        StandardStream.error.write(style.isTerminal ? "\r\(text)\u{1B}[K" : "\(text)\n")
        hasBar = style.isTerminal
    }

    /// Of this process's own work.
    package mutating func show(_ kind: Progress.Kind, _ done: Int, of whole: Int? = nil) {
        if meter?.progress.kind != kind { meter = ProgressMeter(kind) }
        meter?.reach(done, of: whole)
        if let meter { show(meter.progress) }
    }

    /// `nil` where it is too early for another one.
    package mutating func text(_ progress: Progress, at now: ContinuousClock.Instant) -> String? {
        guard !isQuiet else { return nil }
        let isFirst = last == nil
        if let last, last.duration(to: now) < (style.isTerminal ? Self.barPause : Self.linePause) { return nil }
        last = now
        return style.isTerminal ? progress.bar(style) : isFirst ? nil : progress.text
    }

    /// Takes the bar away, so that the result stands alone.
    package mutating func end() {
        if hasBar { StandardStream.error.write("\r\u{1B}[K") }
        hasBar = false
    }
}

extension Progress {
    /// `backfill: 12,300 of 50,000 items, 123 pages, 1,230 items/s, 30 s left`
    package var text: String {
        // Texts come one by one, and not in pages.
        let read = pages > 0 && kind != .texts ? Formatting.count(pages, "page") : nil
        let place = position.map { "at \(Formatting.time($0))" }
        let parts: [String?] = [amount, read, speed, timeLeft, place]
        return "\(kind.rawValue): \(parts.compactMap(\.self).joined(separator: ", "))"
    }

    private var noun: String { kind == .capture ? "line" : kind == .delivery ? "write" : "item" }

    private var amount: String {
        guard let expectedItems else { return Formatting.count(items, noun) }
        return "\(Formatting.count(items)) of \(Formatting.count(expectedItems, noun))"
    }

    private var speed: String? { rate > 0 ? Formatting.rate(rate, noun) : nil }
    private var timeLeft: String? { remaining.map { "\(Formatting.duration($0)) left" } }

    /// One line to be rewritten in place, no wider than the terminal less one column (a cursor in the last column wraps).
    package func bar(_ style: TextStyle) -> String {
        let limit = style.width - 1
        let figures = [amount, speed, timeLeft].compactMap(\.self).joined(separator: "  ")
        let name = kind.rawValue
        let room = limit - name.count - figures.count - 6
        guard let expectedItems, expectedItems > 0, room >= 10 else {
            return String("\(name)  \(figures)".prefix(limit))
        }
        let size = min(room, 30)
        let filled = max(0, min(size, Int(Double(size) * Double(items) / Double(expectedItems))))
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: size - filled)
        return "\(name)  [\(bar)]  \(figures)"
    }
}
