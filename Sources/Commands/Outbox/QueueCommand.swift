import Console
import PRSNLCore
import Requests
import Store

enum QueueCommand {
    static let command = Command(
        "queue", "List the writes that are not delivered yet.", examples: [("", "What waits to be sent, and why.")],
        options: [
            CommandOption("--all", nil, "List those that are over, too."),
            CommandOption("--state", "STATE", "List those in this state only."), .watch,
        ], onlyReads: true
    ) { context, arguments throws(UserFacingError) in
        let request = QueueRequest(filter: try filter(arguments))
        func report() throws(UserFacingError) -> QueueReport { try context.answer(request) }
        if arguments.has("--watch") { return try Watch.run(context, report) { $0.text(TextStyle()) } }
        try context.write(try report())
        return .fine
    }

    private static func filter(_ arguments: ParsedArguments) throws(UserFacingError) -> OutboxFilter {
        guard let name = arguments.value("--state") else { return arguments.has("--all") ? .all : .open }
        if arguments.has("--all") { throw arguments.failure("--all and --state exclude each other") }
        guard let state = OutboxEntry.State(rawValue: name), let filter = OutboxFilter(rawValue: state.rawValue) else {
            let states = OutboxEntry.State.allCases.map(\.rawValue).joined(separator: ", ")
            throw arguments.failure("\(name) is not a state; there are \(states)")
        }
        return filter
    }
}

enum QueueShowCommand {
    static let command = Command(
        "queue show", "Show everything about one write, with every attempt to send it.",
        examples: [("12", "Its content, its attempts, what helps.")], operands: .one("N"),
        onlyReads: true
    ) { context, arguments throws(UserFacingError) in
        try context.write(try context.answer(EntryRequest(entry: EntryNumbers.parse(arguments)[0])))
        return .fine
    }
}

/// Entries as people name them: `12` or `#12`.
enum EntryNumbers {
    static func parse(_ arguments: ParsedArguments) throws(UserFacingError) -> [Int64] {
        var numbers: [Int64] = []
        for operand in arguments.operands {
            guard let number = Int64(operand.hasPrefix("#") ? String(operand.dropFirst()) : operand), number > 0 else {
                throw arguments.failure("\(operand) is not the number of a write")
            }
            if !numbers.contains(number) { numbers.append(number) }
        }
        return numbers
    }
}
