import Console
import Control
import PRSNLCore
import Store

/// `prsnlctl queue`: from the daemon when it runs, from the file when it does not.
enum QueueCommand {
    static func run(_ context: CommandContext, _ arguments: ParsedArguments) throws(UserFacingError) -> ExitCode {
        let reply = try OutboxDoor.read(
            .queue(try filter(arguments), limit: ControlRequest.usuallyListed), context)
        guard case .queue(let report) = reply else { throw reply.unexpected() }
        try context.write(report)
        return .fine
    }

    private static func filter(_ arguments: ParsedArguments) throws(UserFacingError) -> OutboxFilter {
        guard let name = arguments.value("--state") else { return arguments.has("--all") ? .all : .open }
        if arguments.has("--all") {
            throw arguments.failure("--all and --state exclude each other", table: .prsnlctl)
        }
        guard let state = OutboxEntry.State(rawValue: name) else {
            let states = OutboxEntry.State.allCases.map(\.rawValue).joined(separator: ", ")
            throw arguments.failure("\(name) is not a state; there are \(states)", table: .prsnlctl)
        }
        return .state(state)
    }
}

/// `prsnlctl queue show`
enum QueueShowCommand {
    static func run(_ context: CommandContext, _ arguments: ParsedArguments) throws(UserFacingError) -> ExitCode {
        let number = try EntryNumbers.parse(arguments)[0]
        let reply = try OutboxDoor.read(.entry(number), context)
        guard case .entry(let report) = reply else { throw reply.unexpected() }
        try context.write(report)
        return .fine
    }
}

/// Entries as people name them: `12` or `#12`.
enum EntryNumbers {
    static func parse(_ arguments: ParsedArguments) throws(UserFacingError) -> [Int64] {
        var numbers: [Int64] = []
        for operand in arguments.operands {
            guard let number = Int64(operand.hasPrefix("#") ? String(operand.dropFirst()) : operand), number > 0 else {
                throw arguments.failure("\(operand) is not the number of a write", table: .prsnlctl)
            }
            if !numbers.contains(number) { numbers.append(number) }
        }
        return numbers
    }
}
