import Console
import Control
import Glibc
import NetMonitor
import PRSNLCore
import Requests

/// `prsnlctl net`
enum NetCommand {
    static let command = Command(
        "net", "Show the network, the route to the server, and whether it can be reached.",
        options: [CommandOption("--watch", nil, "Print each change as it happens, with its reason.")],
        onlyReads: true
    ) { context, arguments throws(UserFacingError) in
        if arguments.has("--watch") { return try watch(context) }
        try context.write(try context.answer(NetRequest()))
        return .fine
    }

    /// A line for each change, until the daemon stops or the reader leaves.
    private static func watch(_ context: CommandContext) throws(UserFacingError) -> ExitCode {
        let interruption = Interruption.watch()
        var client = try context.reach()
        try client.send(NetWatchRequest())
        var isFirst = true
        while true {
            let change: NetworkChange
            do throws(UserFacingError) {
                change = try client.receive(
                    NetWatchRequest.self, timeout: isFirst ? .seconds(10) : nil, interruption: interruption
                ).get()
            } catch {
                if error.code == .cancelled { return .fine }
                guard error.code == .daemonNotRunning, !isFirst else { throw error }
                context.say("the daemon has stopped, or its lines were read too slowly")
                return .daemonNotRunning
            }
            isFirst = false
            // The reader has left.
            guard StandardStream.output.write(try line(change, context.format)) else { return .fine }
        }
    }

    private static func line(_ change: NetworkChange, _ format: OutputFormat) throws(UserFacingError) -> String {
        switch format {
        case .text(let style): return change.line(style) + "\n"
        case .json: return try JSONOutput.text(change) + "\n"
        }
    }
}
