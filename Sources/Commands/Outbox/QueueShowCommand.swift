import PRSNLCore
import Requests

enum QueueShowCommand {
    static let command = Command(
        "queue show", "Show everything about one write, with every attempt to send it.", operands: .one("N"),
        onlyReads: true
    ) { context, arguments throws(UserFacingError) in
        try context.write(try context.answer(EntryRequest(entry: EntryNumbers.parse(arguments)[0])))
        return .fine
    }
}
