import Console
import PRSNLCore
import Store

/// What `search`, `related` and `list` have in common.
enum ListOptions {
    private static let usual = 20
    static let most = 1_000_000
    /// As many are counted in a few milliseconds.
    private static let counted = 1_000
    /// Of as few, another ending of a word may find ten times as many.
    static let few = 100

    static func amounts(_ arguments: ParsedArguments) throws(UserFacingError) -> (shown: Int, counting: Int) {
        var limit = usual
        if let text = arguments.value("--limit") {
            guard let number = Int(text), (0...most).contains(number) else {
                throw arguments.failure(
                    "--limit \(SafeText.harmless(String(text.prefix(40)))) is not a number from 0 (all) to \(most)")
            }
            limit = number == 0 ? most : number
        }
        return arguments.has("--count") ? (0, most) : (limit, max(limit, counted))
    }

    static func filter(_ arguments: ParsedArguments) throws(UserFacingError) -> ItemFilter {
        let now = TimeSource.system.now()
        func time(_ option: String) throws(UserFacingError) -> Timestamp? {
            guard let text = arguments.value(option) else { return nil }
            return try TimeWord.parse(text, now: now, option: option)
        }
        return ItemFilter(
            tags: arguments.values("--tag"), types: arguments.values("--type"), since: try time("--since"),
            before: try time("--before"))
    }

    /// Why nothing is found, where a tag, a type or a platform is asked for that no item has.
    static func unknown(
        _ names: [(kind: ItemFilter.Named, name: String)], _ reader: StoreReader
    ) throws(UserFacingError) -> Advice? {
        for (kind, name) in names {
            let known = try reader.counts(of: kind).map(\.tag)
            if known.contains(name) || known.contains(name.lowercased()) { continue }
            let near = EditDistance.allNearest(to: name, among: known).prefix(3)
            let none: Advice = "No item has the \(kind.rawValue) \"\(name)\"."
            if !near.isEmpty { return "\(none) Did you mean \(near.joined(separator: " or "))?" }
            return kind == .tag || known.isEmpty
                ? none : "\(none) There \(Count.verb("is", known.count)) \(known.prefix(10).joined(separator: ", "))."
        }
        return nil
    }

    /// What a list lacks while the first pull goes on.
    static func firstPull(_ reader: StoreReader) throws(UserFacingError) -> [Advice] {
        guard let items = try reader.itemsBeforeFirstPullEnded() else { return [] }
        return ["The first pull has not ended. So far the copy has \(Formatting.count(items, "item"))."]
    }

    /// Items go to stdout, and what else is to be said to stderr, so that `--ids` can be handed on.
    static func print(
        _ report: inout ItemListReport, _ reader: StoreReader, _ context: CommandContext, _ arguments: ParsedArguments
    ) throws(UserFacingError) -> ExitCode {
        if arguments.has("--reverse") { report.items.reverse() }
        report.isCount = arguments.has("--count")
        let remarks = report.remarks + (try firstPull(reader))
        guard arguments.has("--ids") else {
            try context.write(report)
            if context.isText { remarks.forEach(context.say) }
            return .fine
        }
        if report.isCount { throw arguments.failure("--ids and --count exclude each other") }
        if !context.isText { throw arguments.failure("--ids and --json exclude each other") }
        let ids = report.items.map(\.id).filter(isPlain)
        try context.print(ids.map { $0 + "\n" }.joined())
        remarks.forEach(context.say)
        let others = report.items.count - ids.count
        if others > 0 {
            context.say(
                "\(Formatting.count(others, "item")) left out: a shell would take their ids for something else.")
        }
        return .fine
    }

    /// Whether an id, which is a server's text, can be handed on by a shell: as one word that is no option, no pattern and nothing
    /// that the shell replaces. Else `delete $(prsnlctl search --ids …)` would delete another item.
    static func isPlain(_ id: String) -> Bool {
        guard let first = id.utf8.first, isLetterOrDigit(first) else { return false }
        return id.utf8.allSatisfy { isLetterOrDigit($0) || "-_.:".utf8.contains($0) }
    }

    static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20)
    }
}

extension CommandOption {
    /// See `ListOptions.filter`.
    static let conditions: [CommandOption] = [
        .text("--tag", "TAG", "With this tag; may be given again: with all of them.", isRepeatable: true),
        CommandOption(
            "--type", .required("TYPE"), "Of this type; may be given again: of any of them.", isRepeatable: true),
        CommandOption(
            "--since", "TIME",
            "Created then or later: `2026-11-22`, `12h`, `30d`, `3w`, `6mo`, `1y`, `today` or `yesterday`."),
        CommandOption("--before", "TIME", "Created earlier than that."),
    ]
    static let limit = CommandOption(
        "--limit", short: "-n", .required("N"), "As many items at the most; 20 without it, all for 0.")
    static let count = CommandOption("--count", nil, "Print only how many there are.")
    static let ids = CommandOption("--ids", nil, "Print the ids alone, one on each line.")
    static let reverse = CommandOption("--reverse", nil, "The same items, the last first.")
}
