import Configuration
import Console
import Glibc
import PRSNLCore
import Reports

/// What `capture`, `note`, `edit` and `delete` have in common: journal, wait if asked to, report.
enum WriteFlow {
    /// - Parameter names: what the person calls each draft; for the messages about those that are refused.
    static func run(
        _ context: CommandContext, _ arguments: ParsedArguments, _ drafts: [WriteDraft], names: [String]
    ) throws(UserFacingError) -> ExitCode {
        let wait = try WaitOption(arguments)
        var outbox = OutboxClient(context)
        // The same request finds what was written of it, however often it is made.
        let request = WritesRequest(OutboxClient.keyed(drafts))
        var report = try journal(request, &outbox)
        if let wait {
            try deliver(request, &report, wait, &outbox)
            report.waited = true
        }
        if context.isText {
            StandardStream.error.write(report.refusals(context.errorStyle, names: names))
            for (write, name) in zip(report.writes, names) where write.error?.code == .itemUnknown {
                guard let item = context.itemFound(by: name) else { continue }
                context.say("\(CommandContext.offer(item)) Its id is \(item.id).")
            }
        }
        try context.write(report)
        return report.exitCode
    }

    private static func journal(
        _ request: WritesRequest, _ outbox: inout OutboxClient
    ) throws(UserFacingError) -> WriteReport {
        switch try written(request, &outbox) {
        case .answered(let report): return report
        case .unknown(let error):
            throw UserFacingError(
                error.code, error.message, consequence: "It is not known whether it is on disk.",
                recoverySuggestion: "Look with `prsnlctl queue --all` before you give the command again.",
                nextCommand: "prsnlctl queue --all")
        }
    }

    /// - Throws: Where nothing is on disk, with that.
    private static func written(
        _ request: WritesRequest, _ outbox: inout OutboxClient
    ) throws(UserFacingError) -> OutboxClient.Outcome<WriteReport> {
        do throws(UserFacingError) {
            return try outbox.write(request)
        } catch {
            let isFull = error.code == .diskFull
            throw UserFacingError(
                error.code, error.message, consequence: "Nothing was queued.",
                recoverySuggestion: isFull ? "Free some space, then give the command again." : error.recoverySuggestion,
                nextCommand: error.nextCommand, cause: error.cause)
        }
    }

    private static func deliver(
        _ request: WritesRequest, _ report: inout WriteReport, _ wait: WaitOption, _ outbox: inout OutboxClient
    ) throws(UserFacingError) {
        guard !report.waiting.isEmpty else { return }
        let context = outbox.context
        if context.isText {
            let numbers = report.waiting.map { "#\($0)" }.joined(separator: ", ")
            context.say("\(numbers) on disk; waiting for the delivery. Ctrl-C ends the waiting, not the write.")
        }
        do throws(UserFacingError) {
            guard let deliveries = try outbox.wait(for: report.waiting, atMost: wait.limit) else { return }
            report.update(deliveries)
        } catch {
            // The writes are on disk, whatever became of the daemon.
            guard error.code == .daemonNotRunning else { throw error }
            context.say("the daemon stopped before it said what became of it")
            report.sending = .whenDaemonRuns
            // It may have delivered it. What was refused is not asked for again. Where that cannot be asked, what is known stands.
            guard report.writes.allSatisfy({ $0.outcome == .accepted }), let now = try? journal(request, &outbox) else {
                return
            }
            report = now
        }
    }
}

/// `--wait[=DURATION]`
struct WaitOption {
    /// `nil`: without a limit.
    var limit: Duration?

    /// `nil` without the option.
    init?(_ arguments: ParsedArguments) throws(UserFacingError) {
        guard arguments.has("--wait") else { return nil }
        guard let text = arguments.value("--wait") else { return }
        guard let limit = DurationText.parse(text) else {
            throw arguments.failure("--wait=\(text) is not a duration such as 30s or 5m")
        }
        self.limit = limit
    }
}

/// Text that a person pipes in where a command takes `-`.
enum TextInput {
    /// - Throws: `write_invalid` for what is too long to be looked at or not UTF-8.
    static func read(_ text: String, field: String) throws(UserFacingError) -> String {
        guard text == "-" else { return text }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while bytes.count <= CaptureLine.longest {
            let count = Glibc.read(STDIN_FILENO, &buffer, buffer.count)
            if count == 0 { break }
            if count > 0 {
                bytes += buffer[..<count]
            } else if errno != EINTR {
                throw UserFacingError(
                    .writeInvalid, "\(field): stdin cannot be read: \(String(cString: strerror(errno))).",
                    consequence: "Nothing was queued.")
            }
        }
        guard bytes.count <= CaptureLine.longest else {
            throw refusal("\(field): more than \(CaptureLine.longest >> 10) KiB, which is too long.")
        }
        // The end of a line is the pipe's, as in the shell's $(…).
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw refusal("\(field): the text from stdin is not UTF-8.")
        }
        return text
    }

    private static func refusal(_ message: String) -> UserFacingError {
        UserFacingError(.writeInvalid, message, consequence: "Nothing was queued.")
    }
}
