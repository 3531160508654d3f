import Console
import Glibc
import PRSNLCore
import Store

/// `prsnlctl changes`: what has changed in the timeline, each change once and in order.
enum ChangesCommand {
    static let command = Command(
        "changes", "Print what has changed in the timeline, each change once and in order, or hand it to a command.",
        examples: [
            ("--cursor mail --batch 50", "The next 50 that this reader has not had."),
            ("--cursor log --follow ./hook", "Hand each new one to a command."),
        ],
        operands: .any("COMMAND"),
        options: [
            CommandOption(
                "--since", "PLACE",
                "Start after change N, after `EPOCH:N`, or at a time (`7d`, `2026-11-22`). Default: everything that is kept."
            ),
            CommandOption(
                "--match", "QUERY",
                "Those of items that a search finds, before the change or after it; texts are not looked at."),
            CommandOption("--follow", nil, "Go on with those that come, until it is interrupted."),
            .text("--cursor", "NAME", "Go on where the reader of that name was, and keep its place."),
            CommandOption(
                "--batch", .required("N"), "At most N changes. With a command: N at a time (100 unless given)."),
            CommandOption(
                "--reread", nil, "Print the whole timeline first, as rows of the kind `present`, and go on from there."),
            CommandOption("--failed", nil, "With --cursor: print those that its command has refused again and again."),
            CommandOption("--retry-failed", nil, "With --cursor: hand the set-aside changes to the command again."),
        ], onlyReads: true, run: run)

    private static func run(_ context: CommandContext, _ arguments: ParsedArguments) throws(UserFacingError) -> ExitCode
    {
        let cursor = try arguments.value("--cursor").map { name throws(UserFacingError) in try Cursor(name, context) }
        let alone = ["--retry-failed", "--failed", "--reread"].first(where: arguments.has)
        let others =
            ["--since", "--batch"] + (alone == "--reread" ? [] : ["--failed", "--reread", "--match", "--follow"])
        if let alone, let other = others.first(where: { $0 != alone && arguments.has($0) }) {
            throw arguments.failure("\(alone) and \(other) exclude each other")
        }
        if arguments.has("--failed") || arguments.has("--retry-failed") {
            guard let cursor else { throw arguments.failure("--failed and --retry-failed need --cursor NAME") }
            let failed = try cursor.failed()
            guard arguments.has("--retry-failed") else {
                return try context.print(failed.map { $0 + "\n" }.joined())
            }
            guard let command = try ChangeCommand(arguments.operands) else {
                throw arguments.failure("--retry-failed needs a command behind --")
            }
            try cursor.lock()
            var left: [String] = []
            for line in failed where try command.run([line]) != .taken { left.append(line) }
            try cursor.save(failed: left)
            return left.isEmpty ? .fine : .error
        }
        var stream = try ChangeStream(context, cursor)
        try cursor?.lock()
        stream.command = try ChangeCommand(arguments.operands)
        if stream.command != nil, cursor == nil {
            throw arguments.failure("a command needs --cursor NAME, by which it goes on where it was")
        }
        stream.follows = arguments.has("--follow")
        stream.batch = try arguments.value("--batch").map { text throws(UserFacingError) -> Int in
            guard let number = Int(text), (1...100_000).contains(number) else {
                throw arguments.failure(
                    "--batch \(SafeText.harmless(String(text.prefix(40)))) is not a number from 1 to 100000")
            }
            return number
        }
        if stream.follows, stream.batch != nil, stream.command == nil {
            throw arguments.failure("--batch with --follow is for a command: lines come as they are committed")
        }
        stream.match = try arguments.value("--match").map { words throws(UserFacingError) in
            let query = try SavedSearches.query(words, context)
            guard !query.isEmpty else {
                throw arguments.failure(
                    "there is nothing to search for in --match \(SafeText.harmless(String(words.prefix(40))))")
            }
            return query
        }
        if let since = arguments.value("--since") { stream.place = try place(since, context) }
        if arguments.has("--reread") { try stream.reread() }
        return try stream.run()
    }

    private static func place(_ text: String, _ context: CommandContext) throws(UserFacingError) -> ChangePlace {
        if let place = ChangePlace(text) { return place }
        let reader = try context.reader()
        if let seq = Int64(text), seq >= 0 {
            return ChangePlace(epoch: try reader.changePlace(at: .latest).epoch, seq: seq)
        }
        let now = TimeSource.system.now()
        let option = "--since takes a time, the number of a change or EPOCH:NUMBER:"
        let time = try TimeWord.parse(text, now: now, option: option)
        guard time <= now.advanced(by: .seconds(60)) else {
            throw UserFacingError(
                .changesMissed, "The time \(time) is yet to come.", recoverySuggestion: "Give a time that has come.")
        }
        return try reader.changePlace(at: time)
    }
}
