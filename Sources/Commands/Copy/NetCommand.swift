import Console
import Control
import NetMonitor
import PRSNLCore
import Reports
import Store

/// `prsnlctl net`: from the daemon when it runs; else what this process and the file know.
enum NetCommand {
    static let command = Command(
        "net", "Show the network, the route to the server, and whether it can be reached.",
        options: [CommandOption("--watch", nil, "Print each change as it happens, with its reason.")]
    ) { context, arguments throws(UserFacingError) in
        if arguments.has("--watch") { return try watch(context) }
        try context.write(try report(context))
        return .fine
    }

    private static func report(_ context: CommandContext) throws(UserFacingError) -> NetReport {
        try context.read(NetRequest()) { path throws(UserFacingError) in
            let network = try NetworkSource.kernel()
            defer { network.stop() }
            return NetReport(
                try snapshot(network), how: network.how, transitions: try transitions(path), source: .file,
                now: TimeSource.system.now())
        }
    }

    /// The first event is the state at the start; where netlink is not permitted there is nothing to wait for.
    private static func snapshot(_ network: NetworkSource) throws(UserFacingError) -> NetworkSnapshot {
        guard network.how == .netlink else { return network.snapshot() }
        return try blocking { () async throws(UserFacingError) in
            for await event in network.events { return event.snapshot }
            return network.snapshot()
        }
    }

    /// Links can be shown before there is a copy.
    private static func transitions(_ database: String) throws(UserFacingError) -> [ConnectivityTransition] {
        do throws(UserFacingError) {
            return try StoreReader(path: database).connectivityHistory(limit: NetReport.mostTransitions)
        } catch {
            guard error.code == .noDatabase else { throw error }
            return []
        }
    }

    /// A line for each change, until the daemon stops or the reader leaves.
    private static func watch(_ context: CommandContext) throws(UserFacingError) -> ExitCode {
        let interruption = Interruption.watch()
        var client = try ControlClient(path: context.paths.controlSocket)
        try client.send(NetWatchRequest())
        var isFirst = true
        while true {
            let change: NetChange
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

    private static func line(_ change: NetChange, _ format: OutputFormat) throws(UserFacingError) -> String {
        switch format {
        case .text(let style): return change.line(style) + "\n"
        case .json:
            do {
                return String(decoding: try JSONOutput.line(change), as: UTF8.self) + "\n"
            } catch {
                throw UserFacingError(.controlProtocol, "The change could not be written as JSON.", cause: "\(error)")
            }
        }
    }
}
