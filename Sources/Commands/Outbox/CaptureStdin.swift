import Console
import Control
import Formats
import Glibc
import PRSNLCore
import Requests

/// `prsnlctl capture --stdin`: lines in groups, each group in one durable transaction, so that 10,000 lines a second can
/// be accepted and no more than a group is ever in memory.
struct CaptureStdin: ~Copyable {
    private var batch: Batch
    private var reader: LineReader
    private var linesRead = 0
    private var group: [(draft: WriteDraft, line: Int)] = []
    private var groupSize = 0

    private static let linesPerGroup = 4_000
    /// Bytes, as long as it is more than one line.
    private static let bytesPerGroup = 256 << 10
    /// Milliseconds after which a group is written although more may come: a person may be typing.
    private static let pause: Int32 = 200

    static func run(_ context: CommandContext, _ wait: WaitOption?) throws(UserFacingError) -> ExitCode {
        var capture = CaptureStdin(Batch(RequestClient(context)))
        if isatty(STDIN_FILENO) == 1, context.isText { context.say("a URL per line; Ctrl-D ends") }
        try capture.readAll()
        capture.batch.report.lines = capture.linesRead
        return try capture.batch.end(wait)
    }

    private init(_ batch: consuming Batch) {
        reader = LineReader(descriptor: STDIN_FILENO, limit: CaptureLine.longest, interruption: batch.interruption)
        self.batch = batch
    }

    private mutating func readAll() throws(UserFacingError) {
        while true {
            switch try nextItem() {
            case .end: return try flush()
            case .pause: try flush()
            case .interrupted:
                // Lines that were read and not yet written are left where they came from.
                let next = group.first?.line ?? linesRead + 1
                batch.display.end()
                return batch.context.say(
                    "interrupted: nothing from line \(next) on was written; `tail -n +\(next) FILE` goes on from there")
            case .tooLong:
                linesRead += 1
                batch.refuse(.init(line: linesRead, error: CaptureLine.tooLong))
            case .line(let bytes):
                // The limit of a request holds even where every byte has to be escaped.
                if groupSize + bytes.count > Self.bytesPerGroup { try flush() }
                linesRead += 1
                do throws(UserFacingError) {
                    guard let item = try CaptureLine.item(bytes, isFirst: linesRead == 1) else { continue }
                    group.append((.create(item), linesRead))
                    groupSize += bytes.count
                } catch { batch.refuse(.init(line: linesRead, error: error)) }
                if group.count >= Self.linesPerGroup { try flush() }
            }
        }
    }

    private mutating func nextItem() throws(UserFacingError) -> LineReader.Item {
        do throws(LineReader.Failure) {
            return try reader.next(pauseAfter: group.isEmpty ? nil : Self.pause)
        } catch {
            try flush()
            throw stopped(TextInput.failure(error.code), before: linesRead + 1)
        }
    }

    private mutating func flush() throws(UserFacingError) {
        guard !group.isEmpty else { return }
        let written = group
        group.removeAll(keepingCapacity: true)
        groupSize = 0
        do throws(Unwritten) {
            let answers = try batch.outbox.write(TallyRequest(RequestClient.keyed(written.map(\.draft))))
            batch.take(answers, of: written.count) { .init(line: written[$0].line, error: $1) }
        } catch {
            let (first, last) = (written[0].line, written[written.count - 1].line)
            throw stopped(error.error, before: first, unknownTo: error.isUnknown ? last : nil)
        }
        batch.display.show(.capture, linesRead)
    }

    /// - Parameter last: The last of the lines from `line` on of which it is not known whether they are on disk.
    private mutating func stopped(
        _ error: UserFacingError, before line: Int, unknownTo last: Int? = nil
    ) -> UserFacingError {
        batch.display.end()
        let lines = "\(Count.text(batch.report.accepted, "line", "is")) on disk, \(batch.report.refused) refused"
        if let last {
            return error.with(
                consequence:
                    "\(lines). Whether lines \(line) to \(last) are on disk is not known; those after them are not.",
                suggestion: "Look with `prsnlctl queue --all`, then go on from line \(line) or \(last + 1).")
        }
        guard line > 1 else { return error.with(consequence: "No line is on disk.") }
        return error.with(
            consequence: "\(lines); nothing from line \(line) on is.",
            suggestion: "\(error.recoverySuggestion) Then go on from line \(line): "
                + "`tail -n +\(line) FILE | prsnlctl capture --stdin`.")
    }
}
