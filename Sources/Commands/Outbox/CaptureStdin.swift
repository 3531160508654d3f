import Console
import Control
import Glibc
import PRSNLCore

/// `prsnlctl capture --stdin`: lines in groups, each group in one durable transaction, so that 10,000 lines a second can
/// be accepted and no more than a group is ever in memory.
struct CaptureStdin: ~Copyable {
    private let context: CommandContext
    private var outbox: RequestClient
    private var reader: LineReader
    private let interruption: Interruption?
    private var report = CaptureReport()
    private var group: [WriteDraft] = []
    /// The line of each draft in `group`.
    private var groupLines: [Int] = []
    private var groupSize = 0
    /// What was accepted, for `--wait`: numbers that follow each other, as they mostly do, take no memory.
    private var entries: [ClosedRange<Int64>] = []
    private var hasProgress = false

    private static let linesPerGroup = 500
    /// Bytes, as long as it is more than one line.
    private static let bytesPerGroup = 256 << 10
    /// Milliseconds after which a group is written, and the file closed, although more may come: a person may be typing.
    private static let pause: Int32 = 200

    static func run(_ context: CommandContext, _ wait: WaitOption?) throws(UserFacingError) -> ExitCode {
        var capture = CaptureStdin(context: context, outbox: RequestClient(context, keepsFile: true))
        if isatty(STDIN_FILENO) == 1, context.isText { context.say("a URL per line; Ctrl-D ends") }
        try capture.readAll()
        if let wait, capture.interruption?.signal == nil { try capture.wait(wait) }
        capture.clearProgress()
        try context.write(capture.report)
        capture.interruption?.endProcess()
        return capture.report.exitCode
    }

    private init(context: CommandContext, outbox: consuming RequestClient) {
        self.context = context
        self.outbox = outbox
        interruption = Interruption.watch()
        reader = LineReader(
            descriptor: STDIN_FILENO, limit: CaptureLine.longest, interruption: interruption)
    }

    // MARK: Reading

    private mutating func readAll() throws(UserFacingError) {
        defer { outbox.closeFile() }
        while true {
            switch try nextItem() {
            case .end: return try flush()
            case .pause:
                try flush()
                outbox.closeFile()
            case .interrupted: return sayWhereItStopped()
            case .tooLong:
                report.lines += 1
                take(.tooLong, size: 0)
            case .line(let bytes):
                // The limit of a request holds even where every byte has to be escaped.
                if groupSize + bytes.count > Self.bytesPerGroup { try flush() }
                report.lines += 1
                take(CaptureLine(bytes, isFirst: report.lines == 1), size: bytes.count)
                if group.count >= Self.linesPerGroup { try flush() }
            }
        }
    }

    private mutating func nextItem() throws(UserFacingError) -> LineReader.Item {
        do throws(LineReader.Failure) {
            return try reader.next(pauseAfter: group.isEmpty && !outbox.hasFileOpen ? nil : Self.pause)
        } catch {
            try flush()
            throw stopped(
                UserFacingError(
                    .usage, "stdin cannot be read: \(String(cString: strerror(error.code))).",
                    recoverySuggestion: "Check where stdin comes from."),
                before: report.lines + 1)
        }
    }

    /// Lines that were read and not yet written are left where they came from.
    private mutating func sayWhereItStopped() {
        let next = groupLines.first ?? report.lines + 1
        clearProgress()
        context.say("interrupted: nothing from line \(next) on was written; `tail -n +\(next) FILE` goes on from there")
    }

    private mutating func take(_ line: CaptureLine, size: Int) {
        switch line {
        case .blank: break
        case .refused(let error): refuse(report.lines, error)
        case .item(let item):
            group.append(.create(item))
            groupLines.append(report.lines)
            groupSize += size
        }
    }

    private mutating func refuse(_ line: Int, _ error: UserFacingError) {
        report.refuse(.init(line: line, error: error))
        clearProgress()
        context.say("line \(line): \(error.message)")
    }

    // MARK: Writing

    private mutating func flush() throws(UserFacingError) {
        guard !group.isEmpty else { return }
        let drafts = group
        let lines = groupLines
        group.removeAll(keepingCapacity: true)
        groupLines.removeAll(keepingCapacity: true)
        groupSize = 0
        let outcome: RequestClient.Outcome<WriteTally>
        do throws(UserFacingError) {
            outcome = try outbox.write(TallyRequest(RequestClient.keyed(drafts)))
        } catch {
            throw stopped(error, before: lines.first ?? report.lines)
        }
        let tally: WriteTally
        switch outcome {
        case .answered(let answer): tally = answer
        case .unknown(let error): throw unknown(error, lines)
        }
        report.accept(tally)
        for entry in tally.entries { remember(entry) }
        for refusal in tally.refused where lines.indices.contains(refusal.index) {
            refuse(lines[refusal.index], refusal.error)
        }
        showProgress()
    }

    private mutating func remember(_ entry: Int64) {
        if let last = entries.last, last.upperBound + 1 == entry {
            entries[entries.count - 1] = last.lowerBound...entry
        } else {
            entries.append(entry...entry)
        }
    }

    private mutating func unknown(_ error: UserFacingError, _ lines: [Int]) -> UserFacingError {
        clearProgress()
        let first = lines.first ?? report.lines
        let last = lines.last ?? report.lines
        return UserFacingError(
            error.code, error.message,
            consequence: "\(report.accepted) lines are on disk, \(report.refused) refused. Whether lines \(first) to "
                + "\(last) are on disk is not known; those after them are not.",
            recoverySuggestion: "Look with `prsnlctl queue --all`, then go on from line \(first) or \(last + 1).")
    }

    private mutating func stopped(_ error: UserFacingError, before line: Int) -> UserFacingError {
        clearProgress()
        return UserFacingError(
            error.code, error.message,
            consequence: "\(report.accepted) \(report.accepted == 1 ? "line is" : "lines are") on disk, "
                + "\(report.refused) refused; nothing from line \(line) on is.",
            recoverySuggestion: "\(error.recoverySuggestion) Then go on from line \(line): "
                + "`tail -n +\(line) FILE | prsnlctl capture --stdin`.", cause: error.cause)
    }

    // MARK: Waiting

    private mutating func wait(_ wait: WaitOption) throws(UserFacingError) {
        let end = wait.limit.map { ContinuousClock.now + $0 }
        report.add(DeliveryReport([]), asked: 0)
        for chunk in chunks() {
            let left = end.map { max(.zero, $0 - ContinuousClock.now) }
            do throws(UserFacingError) {
                guard let answer = try outbox.wait(for: chunk, atMost: left, interruption: interruption) else { break }
                report.add(answer, asked: chunk.count)
            } catch {
                if error.code == .cancelled {
                    clearProgress()
                    context.say("interrupted; the writes stay queued and will be sent")
                    break
                }
                guard error.code == .daemonNotRunning else { throw error }
                clearProgress()
                context.say("the daemon stopped before the delivery")
                report.sending = .whenDaemonRuns
                break
            }
            showProgress(", \(report.delivered ?? 0) delivered")
        }
    }

    private func chunks() -> [[Int64]] {
        let most = Int64(WriteLimits.together)
        return entries.flatMap { range in
            stride(from: range.lowerBound, through: range.upperBound, by: Int64.Stride(most)).map { start in
                Array(start...min(range.upperBound, start + most - 1))
            }
        }
    }

    // MARK: Progress

    private mutating func showProgress(_ more: String = "") {
        guard context.isText, context.errorStyle.isTerminal else { return }
        // CSI K: the rest of the line, from a longer text before.
        StandardStream.error.write(
            "\r\(report.lines) lines, \(report.accepted) accepted, \(report.refused) refused\(more)\u{1B}[K")
        hasProgress = true
    }

    private mutating func clearProgress() {
        if hasProgress { StandardStream.error.write("\r\u{1B}[K") }
        hasProgress = false
    }
}
