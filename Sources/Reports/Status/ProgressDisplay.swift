package import Console

/// Progress on stderr: a bar that is rewritten in place on a terminal, a line now and then elsewhere.
package struct ProgressDisplay {
    let style: TextStyle
    let isQuiet: Bool
    private var hasBar = false
    private var lastLine: ContinuousClock.Instant?

    /// Where lines stay, in a log for instance, a few are enough.
    private static let linePause: Duration = .seconds(5)

    package init(style: TextStyle, isQuiet: Bool) {
        self.style = style
        self.isQuiet = isQuiet
    }

    package mutating func show(_ progress: PullProgress) {
        guard !isQuiet else { return }
        if style.isTerminal {
            // CSI K: the rest of the line, from a longer bar before.
            StandardStream.error.write("\r\(progress.bar(style))\u{1B}[K")
            hasBar = true
        } else if lastLine.map({ $0.duration(to: .now) >= Self.linePause }) ?? true {
            StandardStream.error.write("\(progress.statusText)\n")
            lastLine = .now
        }
    }

    /// Takes the bar away, so that the result stands alone.
    package mutating func end() {
        if hasBar { StandardStream.error.write("\r\u{1B}[K") }
        hasBar = false
    }
}
