/// How far a long piece of work is: in the status, on the lines that a request sends while it is waited for, and on stderr.
package struct Progress: Sendable, Equatable, Codable {
    package enum Kind: String, Sendable, Codable {
        /// Pulls, as the history names them.
        case backfill, head, sweep, pass, check, texts
        case verify, export, index, capture, delivery
    }

    package var kind: Kind
    package var startedAt: Timestamp
    package var pages = 0
    /// What is done so far; of a pull what was read from the server, known items included.
    package var items = 0
    /// The whole, where it is known.
    @Nullable package var expectedItems: Int? = nil
    /// Where on the timeline a pull stands (dialect C).
    @Nullable package var position: Timestamp? = nil
    /// Items per second in the last ten seconds. 0 where that is not known yet.
    package var rate: Double = 0

    package init(kind: Kind, startedAt: Timestamp) {
        self.kind = kind
        self.startedAt = startedAt
    }

    /// At this rate; `nil` where that cannot be known.
    package var remaining: Duration? {
        guard let expectedItems, expectedItems > items, rate.isFinite, rate > 0 else { return nil }
        let seconds = Double(expectedItems - items) / rate
        return seconds < 1e9 ? .seconds(Int(seconds)) : nil
    }
}

/// Counts what is done. The rate is that of the last ten seconds, so that neither a quick beginning nor a pause long ago makes the
/// time left jump.
package struct ProgressMeter: Sendable {
    package private(set) var progress: Progress
    private var marks: [(at: Duration, items: Int)]
    private let time: TimeSource

    private static let window: Duration = .seconds(10)
    private static let betweenMarks: Duration = .milliseconds(500)

    /// - Parameters:
    ///   - expected: the whole, where it is known.
    ///   - done: what was done of it before.
    package init(_ kind: Progress.Kind, of expected: Int? = nil, after done: Int = 0, time: TimeSource = .system) {
        progress = Progress(kind: kind, startedAt: time.now())
        progress.expectedItems = expected
        progress.items = done
        marks = [(time.uptime(), done)]
        self.time = time
    }

    /// How long nothing has been counted.
    package var pause: Duration { time.uptime() - (marks.last?.at ?? .zero) }

    /// There is so much left to do.
    package mutating func expect(_ left: Int) { progress.expectedItems = progress.items + left }

    package mutating func add(_ items: Int, at position: Timestamp? = nil, of whole: Int? = nil) {
        progress.pages += 1
        progress.position = position
        reach(progress.items + items, of: whole)
    }

    /// So much is done in all, of a whole that may be known by now.
    package mutating func reach(_ items: Int, of whole: Int? = nil) {
        let now = time.uptime()
        progress.items = items
        if let whole { progress.expectedItems = whole }
        if let expected = progress.expectedItems { progress.expectedItems = max(expected, items) }
        while marks.count > 1, now - marks[1].at >= Self.window { marks.removeFirst() }
        let elapsed = now - marks[0].at
        if elapsed >= Self.betweenMarks { progress.rate = Double(max(0, items - marks[0].items)) / elapsed.seconds }
        if pause >= Self.betweenMarks { marks.append((now, items)) }
    }
}
