import Console
import Glibc
import PRSNLCore
import Requests
import Store

enum TagCommand {
    static let command = Command(
        "tag", "Add tags to items, and remove tags from them; `-` reads ids from stdin.",
        examples: [
            ("+read -later 59ec6da4", "Add one tag and remove another."),
            ("+bread $(prsnlctl search --ids rye)", "Tag what a search finds."),
        ], operands: operands,
        options: [
            .text(
                "--query", "WORDS",
                "All items that `prsnlctl search` finds with these words; asks first, on a terminal."),
            CommandOption(
                "--rename", nil, "`tag --rename OLD NEW`: on all items that have the tag; asks first, on a terminal."),
            CommandOption("--dry-run", nil, "List the items whose tags would change by the copy, and change nothing."),
            CommandOption("--yes", nil, "Do not ask for confirmation. Only a terminal is asked at all."),
            .wait,
        ]
    ) { context, arguments throws(UserFacingError) in
        let wait = try WaitOption(arguments)
        let (change, names) = try words(arguments, context)
        // Once, and not for each item; and a dry run is refused what the command would be.
        _ = try WriteDraft.edit(item: "any", ItemEdit(tagChange: change)).checked(dialect: TagWords.dialect(context))
        let found = try items(names, change, context, arguments)
        if arguments.has("--dry-run") { return try show(found, change, context) }
        var batch = Batch(RequestClient(context))
        batch.report.items = found.count
        if !found.isEmpty {
            guard try confirm(change, found, context, arguments) else {
                context.say("nothing was changed")
                return .error
            }
            // Of each item, whatever the copy has: what is asked for is judged by what the server has when it is sent.
            let edit = ItemEdit(tagChange: change)
            let request = TallyRequest(RequestClient.keyed(found.map { .edit(item: $0.id, edit) }))
            do throws(Unwritten) {
                let answers = try WriteFlow.journal(request, &batch.outbox)
                batch.take(answers, of: found.count) { .init(item: found[$0].id, error: $1) }
            } catch { throw error.userFacing }
        }
        return try batch.end(wait)
    }

    private static let operands: CommandOperands = {
        var operands = CommandOperands.some("+TAG|-TAG|ID", most: .max)
        operands.mayBeginWithDash = true
        return operands
    }()

    private static func words(
        _ arguments: ParsedArguments, _ context: CommandContext
    ) throws(UserFacingError) -> (change: TagChange, names: [String]) {
        let words = arguments.operands
        if arguments.has("--rename") {
            if arguments.has("--query") { throw arguments.failure("--rename and --query exclude each other") }
            guard words.count == 2 else {
                throw arguments.failure("--rename takes two tags: the old one and the new one")
            }
            let tags = TagWords.lowered(words, context)
            return (TagChange(added: [tags[1]], removed: [tags[0]]), [])
        }
        var change = TagChange()
        var names: [String] = []
        for word in words {
            switch word.first {
            case "+": change.added.append(String(word.dropFirst()))
            case "-" where word != "-": change.removed.append(String(word.dropFirst()))
            default: names.append(word)
            }
        }
        if change.isEmpty { throw arguments.failure("+TAG or -TAG is missing: a tag begins with + or -") }
        change = TagChange(
            added: TagWords.lowered(change.added, context), removed: TagWords.lowered(change.removed, context))
        if arguments.has("--query") {
            if let name = names.first { throw arguments.failure("\(name) and --query exclude each other") }
        } else if names.isEmpty {
            throw arguments.failure("an id, or --query, is missing")
        }
        return (change, names)
    }

    /// The items that are meant, as the copy has them. Where it cannot be read here, as they were named: then it is for the daemon
    /// to say which there are.
    private static func items(
        _ names: [String], _ change: TagChange, _ context: CommandContext, _ arguments: ParsedArguments
    ) throws(UserFacingError) -> [ListedItem] {
        var list = ItemList()
        if let words = arguments.value("--query") {
            if words.allSatisfy(\.isWhitespace) { throw arguments.failure("--query has no words") }
            let query = try SavedSearches.query(words, context)
            list = try context.reader().search(query, limit: ListOptions.most)
            for remark in ItemListReport(list, shortIDs: [], words: words).remarks { context.say(remark) }
        } else if arguments.has("--rename") {
            let filter = ItemFilter(tags: change.removed)
            list = try context.reader().list(filter, limit: ListOptions.most)
            if list.items.isEmpty { context.say("No item has the tag \(change.removed[0])\(asOf(context)).") }
        } else {
            let reader = try? context.reader()
            // What names no item, the daemon refuses.
            return try NamedItems.ids(arguments, names).map { (try? reader?.itemToChange($0)) ?? ListedItem(id: $0) }
        }
        return list.items
    }

    private static func confirm(
        _ change: TagChange, _ items: [ListedItem], _ context: CommandContext, _ arguments: ParsedArguments
    ) throws(UserFacingError) -> Bool {
        guard arguments.has("--query") || arguments.has("--rename"), let confirmation = Confirmation(arguments) else {
            return true
        }
        NamedItems.show(items.prefix(5), of: items.count, context)
        let words = (change.added.map { "+\($0)" } + change.removed.map { "-\($0)" }).joined(separator: " ")
        return confirmation.ask(
            "Change the tags of \(Formatting.count(items.count, "item")) (\(SafeText.harmless(words)))\(asOf(context))?"
        )
    }

    private static func show(
        _ items: [ListedItem], _ change: TagChange, _ context: CommandContext
    ) throws(UserFacingError) -> ExitCode {
        let changed = items.filter { !change.isDone(in: $0.tags) }
        try context.write(
            ItemListReport(ItemList(items: changed), shortIDs: changed.map { OutboxWords.shortID($0.id) }))
        context.say(
            "\(Formatting.count(changed.count)) of \(Formatting.count(items.count, "item")) would change\(asOf(context)); "
                + "nothing was written")
        return .fine
    }

    /// How old is what the copy says of tags: edits that were made elsewhere since are not in it. Empty where that is not known.
    private static func asOf(_ context: CommandContext) -> String {
        let time = (try? context.reader().summary())?.copy.editsAsOf
        return time.map { ", as of \(Formatting.timeWithAge($0, now: TimeSource.system.now(), named: true))" } ?? ""
    }
}
