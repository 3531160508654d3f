package import Console
import Control
import Glibc
package import NetMonitor
import PRSNLCore
package import Requests

/// `prsnlctl net`
enum NetCommand {
    static let command = Command(
        "net", "Show the network, the route to the server, and whether it can be reached.",
        examples: [("--watch", "Each change of the network.")],
        options: [CommandOption("--watch", nil, "Print each change as it happens, with its reason.")], onlyReads: true
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

    private func table(_ style: TextStyle) -> [String] {
        var lines: [String] = []
        if listening == .netlink || !links.isEmpty {
            let width = max(10, (links.map { TextLayout.width(style.safe($0.name)) }.max() ?? 0) + 2)
            lines += ["", style.paint(row(["Link", "State"], [width, 13]) + "Addresses", .bold)]
            lines += links.flatMap { $0.lines(style, nameWidth: width) }
            lines += ["", style.paint("Default routes", .bold)]
            lines += defaultRoutes.isEmpty ? ["none"] : defaultRoutes.map { $0.line(style) }
        }
        lines += ["", style.paint("Last changes of the connection (\(Formatting.zone(generatedAt)))", .bold)]
        lines += transitions.isEmpty ? ["none yet"] : transitions.flatMap { $0.lines(style) }
        return lines
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
        let shown = addresses.isEmpty ? ["none"] : addresses.map(style.safe)
        return shown.enumerated().map { index, address in
            index == 0
                ? front + style.paint(state, colour) + padding + address
                : String(repeating: " ", count: nameWidth + 13) + address
        }
    }
}

extension NetReport.Route {
    fileprivate func line(_ style: TextStyle) -> String {
        var words = [family == "ipv6" ? "IPv6" : "IPv4"]
        if kind != .unicast { words.append(style.paint(kind.rawValue, .yellow)) }
        if let gateway { words.append("via \(style.safe(gateway))") }
        if let link { words.append("over \(style.safe(link))") }
        if metric > 0 { words.append("metric \(metric)") }
        return words.joined(separator: " ")
    }
}

extension ConnectivityTransition {
    fileprivate func lines(_ style: TextStyle) -> [String] {
        let reason = style.safe(reason ?? (state == .online ? "the server answers" : code ?? ""))
        let front = Formatting.clock(at) + "  " + TextLayout.padRight(state.rawValue, to: 13)
        let width = TextLayout.width(front)
        return TextLayout.wrap(reason, width: max(20, style.width - width)).enumerated().map { index, line in
            (index == 0 ? front : String(repeating: " ", count: width)) + line
        }
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
