import Console
import Control
import Glibc
import PRSNLCore
import Requests

/// `--watch`: shows a report again each time that the daemon says that something has changed.
enum Watch {
    /// After the daemon has left, how long until it is looked for again, in milliseconds.
    private static let pause: Int32 = 2_000
    /// On a terminal, where it says how long something will take.
    private static let refresh: Duration = .seconds(10)

    /// - Parameters:
    ///   - report: asked for again after each change.
    ///   - line: what is printed where stdout is no terminal, if it is another than before.
    static func run<Shown: Report>(
        _ context: CommandContext, _ report: () throws(UserFacingError) -> Shown, line: (Shown) -> String
    ) throws(UserFacingError) -> ExitCode {
        let interruption = Interruption.watch()
        let rows = context.isText ? TextStyle.rows(of: STDOUT_FILENO) : nil
        var last: String?
        func show() throws(UserFacingError) -> Bool {
            let shown = try report()
            guard let rows else {
                let text = context.isText ? line(shown) : try JSONOutput.text(shown)
                // Ages grow by themselves.
                let key = text.contains("\n") || !context.isText ? try timeless(shown) : text
                if key == last { return true }
                last = key
                let time = context.isText ? Formatting.time(TimeSource.system.now()) : ""
                let between = !context.isText ? "" : text.contains("\n") ? "\n" : "  "
                return StandardStream.output.write(time + between + text + "\n")
            }
            // In one write, so that nothing flickers: from the first place, each line to its end, and all that is below.
            let text = try context.render(shown)
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false).prefix(rows - 1)
            return StandardStream.output.write("\u{1B}[H" + lines.map { $0 + "\u{1B}[K\n" }.joined() + "\u{1B}[J")
        }
        while true {
            guard try show() else { return .fine }
            let began = ContinuousClock.now
            do throws(UserFacingError) {
                var client = try context.reach()
                try client.send(WatchRequest())
                while true {
                    _ = try client.receive(
                        WatchRequest.self, timeout: rows == nil ? nil : refresh, interruption: interruption
                    ).get()
                    // The reader has left.
                    guard try show() else { return .fine }
                }
            } catch {
                switch error.code {
                case .cancelled: return .fine
                // Nothing was said for so long. A daemon that takes no more readers says so at once.
                case .daemonBusy where rows != nil && began.duration(to: .now) >= refresh: continue
                case .daemonNotRunning, .daemonElsewhere, .daemonBusy: break
                default: throw error
                }
            }
            var ends = [pollfd(fd: interruption?.descriptor ?? -1, events: Int16(POLLIN), revents: 0)]
            if poll(&ends, 1, pause) > 0 { return .fine }
        }
    }
}

extension Watch {
    /// A report without the time at which it was made.
    private static func timeless(_ report: some Report) throws(UserFacingError) -> String {
        let text = try JSONOutput.text(report)
        guard let start = text.firstRange(of: "\"generated_at\":\"") else { return text }
        let end = text[start.upperBound...].firstIndex(of: "\"") ?? start.upperBound
        return String(text[..<start.upperBound] + text[end...])
    }
}

extension CommandOption {
    static let watch = CommandOption(
        "--watch", nil, "Show it again each time that something changes, until it is interrupted.")
}
