import Console
import PRSNLCore
import Reports
import Store

/// `prsnlctl queue`: from the daemon when it runs, from the file when it does not.
enum QueueCommand {
    static let command = Command(
        "queue", "List the writes that are not delivered yet.",
        options: [
            CommandOption("--all", nil, "List those that are over, too."),
            CommandOption("--state", "STATE", "List those in this state only."),
        ]
    ) { context, arguments throws(UserFacingError) in
        let request = QueueRequest(try filter(arguments))
        try context.write(
            try context.read(request) { path throws(UserFacingError) in
                QueueReport(
                    try StoreReader(path: path).outbox(request.filter, limit: request.limit), filter: request.filter,
                    source: .file, now: TimeSource.system.now())
            })
        return .fine
    }

    private static func filter(_ arguments: ParsedArguments) throws(UserFacingError) -> OutboxFilter {
        guard let name = arguments.value("--state") else { return arguments.has("--all") ? .all : .open }
        if arguments.has("--all") {
            throw arguments.failure("--all and --state exclude each other")
        }
        guard let state = OutboxEntry.State(rawValue: name) else {
            let states = OutboxEntry.State.allCases.map(\.rawValue).joined(separator: ", ")
            throw arguments.failure("\(name) is not a state; there are \(states)")
        }
        return .state(state)
    }
}

/// `prsnlctl queue show`
enum QueueShowCommand {
    static let command = Command(
        "queue show", "Show everything about one write, with every attempt to send it.", operands: .one("N")
    ) { context, arguments throws(UserFacingError) in
        try context.write(try entry(EntryNumbers.parse(arguments)[0], context))
        return .fine
    }

    static func entry(_ number: Int64, _ context: CommandContext) throws(UserFacingError) -> EntryReport {
        try context.read(EntryRequest(number)) { path throws(UserFacingError) in
            let (entry, attempts) = try StoreReader(path: path).outboxEntry(number)
            return EntryReport(entry, attempts, source: .file, now: TimeSource.system.now())
        }
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
