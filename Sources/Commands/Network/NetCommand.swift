package import Console
import Control
import Glibc
package import NetMonitor
import PRSNLCore
package import Requests

enum NetCommand {
    static let command = Command(
        "net", "Show the network, the route to the server, and whether it can be reached.",
        examples: [("--watch", "Each change of the network.")],
        options: [CommandOption("--watch", nil, "Print each change as it happens, with its reason.")], onlyReads: true
    ) { context, arguments throws(UserFacingError) in
        if arguments.has("--watch") { return try watch(context) }
        return try context.write(try context.answer(NetRequest()))
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
            let line = if let style = context.style { change.line(style) } else { try JSONOutput.text(change) }
            guard StandardStream.output.write(line + "\n") else { return .fine }
        }
    }
}

extension NetReport: Report {
    package func text(_ style: TextStyle) -> String {
        let noDaemon = "does not answer; links and routes are as this command sees them"
        return fields(
            [
                ("Daemon", source == .file ? [noDaemon] : []), ("Connection", connectionText(style)),
                ("Route", route.map { [style.safe($0)] } ?? []), ("Listening", listeningText(style)),
            ], style) + table(style).map { $0 + "\n" }.joined()
    }

    private func connectionText(_ style: TextStyle) -> [String] {
        guard let connectivity else { return [] }
        return [connectivity.headline(style, now: generatedAt)]
            + (connectivity.reason.map { [style.safe($0.message)] } ?? [])
    }

    private func listeningText(_ style: TextStyle) -> [String] {
        switch listening {
        case .netlink: []
        case .polling:
            [
                style.paint("the kernel does not tell what happens", .yellow),
                style.safe(listeningReason ?? "") + "; the route to the server is looked at once a minute",
            ]
        case .none: ["not to the kernel"]
        }
    }

    @Listing<String> private func table(_ style: TextStyle) -> [String] {
        if listening == .netlink || !links.isEmpty {
            let width = max(10, (links.map { TextLayout.width(style.safe($0.name)) }.max() ?? 0) + 2)
            ""
            style.paint(row(["Link", "State"], [width, 13]) + "Addresses", .bold)
            links.flatMap { $0.lines(style, nameWidth: width) }
            ""
            style.paint("Default routes", .bold)
            defaultRoutes.isEmpty ? ["none"] : defaultRoutes.map { $0.line(style) }
        }
        ""
        style.paint("Last changes of the connection (\(Formatting.zone(generatedAt)))", .bold)
        transitions.isEmpty ? ["none yet"] : transitions.flatMap { $0.lines(style) }
    }
}

private func row(_ cells: [String], _ widths: [Int]) -> String {
    zip(cells, widths).map { TextLayout.padRight($0, to: $1) }.joined()
}

extension NetReport.Link {
    /// One line for each address.
    fileprivate func lines(_ style: TextStyle, nameWidth: Int) -> [String] {
        let state = up ? (carrier ? "up" : "no carrier") : "down"
        let colour: TextStyle.Colour = up && carrier ? .green : .yellow
        let padding = String(repeating: " ", count: 13 - state.count)
        let front = row([style.safe(name)], [nameWidth])
        return TextLayout.hang(
            addresses.isEmpty ? ["none"] : addresses.map(style.safe),
            behind: front + style.paint(state, colour) + padding, width: nameWidth + 13)
    }
}

extension NetReport.Route {
    fileprivate func line(_ style: TextStyle) -> String {
        let words: [String?] = [
            family == "ipv6" ? "IPv6" : "IPv4", kind == .unicast ? nil : style.paint(kind.rawValue, .yellow),
            gateway.map { "via \(style.safe($0))" }, link.map { "over \(style.safe($0))" },
            metric > 0 ? "metric \(metric)" : nil,
        ]
        return words.compactMap(\.self).joined(separator: " ")
    }
}

extension ConnectivityTransition {
    fileprivate func lines(_ style: TextStyle) -> [String] {
        let reason = style.safe(reason ?? (state == .online ? "the server answers" : code ?? ""))
        let front = Formatting.clock(at) + "  " + TextLayout.padRight(state.rawValue, to: 13)
        let width = TextLayout.width(front)
        return TextLayout.hang(
            TextLayout.wrap(reason, width: max(20, style.width - width)), behind: front, width: width)
    }
}

extension NetworkChange {
    /// One line without its end, however wide: the reader may be `grep`.
    package func line(_ style: TextStyle) -> String {
        let time = Formatting.time(at)
        let padding = String(repeating: " ", count: max(1, 13 - TextLayout.width(state.rawValue)))
        var words = reasons.map(style.safe).joined(separator: "; ")
        if kind == .current, words.isEmpty { words = "route: \(style.safe(route))" }
        return "\(time)  " + state.words.painted(style) + padding + words
    }
}
