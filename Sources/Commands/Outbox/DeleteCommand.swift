import Console
import Glibc
import PRSNLCore
import Store

/// `prsnlctl delete`: items, each by an entry of its own. Says which they are, and on a terminal asks.
enum DeleteCommand {
    static let command = Command(
        "delete", "Delete items on the server; asks first, on a terminal.", operands: .some("ID"),
        options: [
            CommandOption("--yes", nil, "Do not ask. Without a terminal nothing is asked anyway."), .wait,
        ], run: run)

    private static func run(_ context: CommandContext, _ arguments: ParsedArguments) throws(UserFacingError) -> ExitCode
    {
        let asks = !arguments.has("--yes") && isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1
        var items: [String] = []
        for item in arguments.operands where !items.contains(item) { items.append(item) }
        if let found = try titles(of: items, context, isStrict: asks) {
            if context.isText || asks {
                for item in found {
                    let title = item.title.isEmpty ? "(no title)" : item.title
                    StandardStream.error.write("  \(context.errorStyle.safe("\(item.id)  \(title)"))\n")
                }
            }
            // What was shown is what is deleted.
            items = found.map(\.id)
        }
        if asks, !Confirmation.ask("Delete \(items.count == 1 ? "this item" : "these items") on the server?") {
            context.say("nothing was deleted")
            return .error
        }
        return try WriteFlow.run(context, arguments, items.map { .delete(item: $0) }, names: items)
    }

    /// `nil` where the copy cannot be read here, or one of the ids names no item: then it is for the daemon to
    /// say so, of each.
    ///
    /// - Throws: `item_unknown` and `item_ambiguous` where `isStrict`.
    private static func titles(
        of items: [String], _ context: CommandContext, isStrict: Bool
    ) throws(UserFacingError) -> [(id: String, title: String)]? {
        do throws(UserFacingError) {
            let reader = try StoreReader(path: context.paths.database)
            var found: [(id: String, title: String)] = []
            for item in items { found.append(try reader.itemToDelete(item)) }
            return found
        } catch {
            // A person who is asked has to see what for.
            if isStrict, error.code == .itemUnknown || error.code == .itemAmbiguous { throw error }
            return nil
        }
    }
}

/// A question on the terminal that is answered with yes or with anything else.
enum Confirmation {
    static func ask(_ question: String) -> Bool {
        StandardStream.error.write("\(question) [y/N] ")
        let answer = readLine(strippingNewline: true)?.lowercased() ?? ""
        return answer == "y" || answer == "yes"
    }
}
