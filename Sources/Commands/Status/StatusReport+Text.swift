package import Console
import PRSNLCore
import Store

extension StatusReport: Report {
    package func text(_ style: TextStyle) -> String {
        TextLayout.wrap(sentence, width: style.width).map { $0 + "\n" }.joined() + "\n"
            + fields(
                [
                    ("Daemon", daemonText(style)),
                    ("Server", [serverText(style)]),
                    ("Connection", connectionText(style)),
                    ("Account", [accountText(style)]),
                    ("Copy", [copyText(style)]),
                    ("New items", [asOf(copy.newAsOf)]),
                    ("Edits", ["and deletions \(asOf(copy.editsAsOf))"] + unseenDeletions),
                    ("Texts", textsText(style)),
                    ("Search", searchText),
                    ("Verified", verifiedText(style)),
                    ("Items", [itemsText]),
                    ("Missing", missing),
                    ("Unsettled", unsettled(style)),
                    ("Gone", copy.gone?.lines(style, now: generatedAt) ?? []),
                    ("Writes", writesText(style)),
                    ("Pull", pull.map { [$0.text] } ?? []),
                    ("Problem", problemText(style)),
                    ("Last error", lastErrorText(style)),
                    ("File", [style.safe(file.path), fileText]),
                ], style)
    }

    /// Whether everything of a person's own is sent, and whether what others wrote is here.
    var sentence: String {
        switch (whatWaits, whatIsMissing) {
        case (nil, nil): attention.isEmpty ? "Up to date; nothing waits." : "Something needs your attention."
        case (let mine?, nil): "Up to date, but \(mine)."
        case (nil, let theirs?): "\(theirs). Nothing waits to be sent."
        case (let mine?, let theirs?): "\(theirs). \(mine.prefix(1).uppercased() + mine.dropFirst())."
        }
    }

    private var whatWaits: String? {
        guard let outbox else { return nil }
        var parts: [String] = []
        if outbox.waiting > 0 {
            let reason =
                switch daemon?.connectivity.state {
                case nil: "for the daemon"
                case .online: outbox.problem == nil ? "to be sent" : "and nothing is sent at the moment"
                case .offline: "for the network"
                case .unauthorized: "for a login"
                case .unknown, .unreachable, .portal: "for the server"
                }
            let verb = outbox.waiting == 1 ? "waits" : "wait"
            parts.append("\(Formatting.count(outbox.waiting, "write")) \(verb) \(reason)")
        }
        if outbox.parked > 0 {
            let verb = outbox.parked == 1 ? "needs" : "need"
            parts.append("\(Formatting.count(outbox.parked, "write")) \(verb) your decision")
        }
        return parts.isEmpty ? nil : parts.joined(separator: ", and ")
    }

    /// Younger than this is as good as now: polls and sweeps have their pauses.
    private static let recent: Duration = .seconds(3_600)

    private var whatIsMissing: String? {
        if copy.newAsOf == nil, copy.live == 0, daemon == nil { return "Nothing was pulled yet" }
        if let hindrance { return hindrance }
        guard copy.complete, let newAsOf = copy.newAsOf else {
            return copy.newAsOf == nil && copy.live == 0 ? "Nothing was pulled yet" : "The copy is not complete yet"
        }
        func missing(_ what: String, since time: Timestamp) -> String? {
            let age = generatedAt.duration(since: time)
            return age > Self.recent ? "\(what) of the last \(Formatting.duration(age)) may be missing" : nil
        }
        guard let editsAsOf = copy.editsAsOf else { return "Edits and deletions may be missing" }
        let edits = missing("Edits", since: editsAsOf).map { $0 + nextSweep }
        return missing("New items", since: newAsOf) ?? edits ?? missingTexts
            ?? (copy.search?.problem == nil ? nil : "Search does not find what is new")
    }

    private var nextSweep: String {
        guard let next = daemon?.nextSweepAt else { return "" }
        let wait = next.duration(since: generatedAt)
        return wait > .zero ? "; the next sweep begins in \(Formatting.duration(wait))" : "; the next sweep is due"
    }

    /// Why nothing is read any more, or not all of it.
    private var hindrance: String? {
        guard let daemon else {
            let time = copy.newAsOf.map { "; this copy is of \(Formatting.time($0))" } ?? ""
            return switch noDaemon?.state {
            case .stopped, nil: "The daemon is stopped\(time)"
            case .failed: "The daemon has failed\(time)"
            case .notResponding: "The daemon does not respond\(time)"
            case .refused: "The daemon does not answer this user\(time)"
            case .unreachable: "The daemon cannot be asked\(time)"
            }
        }
        let time = daemon.connectivity.since
        let since = time.map { " since \(Formatting.clock($0))" } ?? ""
        let span =
            time.map { " for \(Formatting.duration(generatedAt.duration(since: $0))) (\(since.dropFirst()))" } ?? ""
        switch daemon.connectivity.state {
        case .offline: return "There has been no network\(span)"
        case .unreachable: return "The server has been unreachable\(span)"
        case .portal: return "Something other than PRSNL has answered\(span)"
        case .unauthorized:
            switch daemon.connectivity.reason?.code {
            case .needsLogin?: return "The daemon has no login that the server takes\(since)"
            case .accountChanged?: return "The login and this copy are of different accounts\(since)"
            case .loginExpired?: return "The login has expired\(since)"
            default: return "The server refuses the login\(since)"
            }
        case .online, .unknown: break
        }
        if copy.deletionsHeld > 0 {
            return
                "\(Formatting.count(copy.deletionsHeld, "deletion")) \(copy.deletionsHeld == 1 ? "needs" : "need") your decision"
        }
        return attention.contains(.problem) ? daemon.problem.map { SafeText.harmless($0.message.withoutFullStop) } : nil
    }

    private var missingTexts: String? {
        guard let texts = copy.texts, texts.enabled != false, texts.asOf == nil, texts.missing > 0 else { return nil }
        return
            "\(texts.present == nil ? "More than " : "")\(Formatting.count(texts.missing, "text")) \(texts.missing == 1 ? "is" : "are") not here yet"
    }

    private func asOf(_ time: Timestamp?) -> String {
        time.map { "as of \(Formatting.timeWithAge($0, now: generatedAt))" } ?? Formatting.notKnown
    }

    /// Where the server's list does not tell what is gone.
    private var unseenDeletions: [String] {
        guard copy.editsAsOf != nil else { return [] }
        var places: [String] = []
        if !copy.possiblyMoreAt.isEmpty {
            places.append("at \(Formatting.count(copy.possiblyMoreAt.count, "timestamp collision"))")
        }
        if copy.rejected > 0 { places.append("around items that could not be read") }
        return places.isEmpty ? [] : ["except for deletions \(places.joined(separator: " and "))"]
    }

    private func daemonText(_ style: TextStyle) -> [String] {
        guard let daemon else { return noDaemonText(style) }
        var lines = [
            "\(style.safe(daemon.version)), pid \(daemon.pid), running since \(Formatting.time(daemon.since))"
        ]
        var activity = daemon.activity.rawValue
        if let next = daemon.nextPullAt {
            let wait = next.duration(since: generatedAt)
            activity += wait > .zero ? "; next pull in \(Formatting.duration(wait))" : "; next pull now"
        }
        lines.append(activity)
        return lines
    }

    private func noDaemonText(_ style: TextStyle) -> [String] {
        let reason = noDaemon?.reason.map { style.safe($0) }
        let state =
            switch noDaemon?.state {
            case .stopped, nil: "stopped"
            case .failed: style.paint("failed", .red)
            case .notResponding: style.paint("not responding", .red)
            case .refused: "does not answer this user"
            case .unreachable: style.paint("cannot be asked", .red)
            }
        return ["\(state); showing data from the file"]
            + [reason, noDaemon?.nextCommand.map { style.next($0) } ?? nil].compactMap(\.self)
    }

    private func serverText(_ style: TextStyle) -> String {
        guard let url = server.url else { return "known after the first pull" }
        return style.safe(url) + (server.dialect.map { ", dialect \($0.rawValue)" } ?? "")
    }

    private func connectionText(_ style: TextStyle) -> [String] {
        guard let daemon else { return [] }
        let connectivity = daemon.connectivity
        var lines = [connectivity.headline(style, now: generatedAt)]
        if let reason = connectivity.reason { lines.append(style.safe(reason.message)) }
        if let consequence = ConnectivityWords.consequence(connectivity.state) { lines.append(consequence) }
        if let network = daemon.network, network.listening == "polling" {
            lines.append(
                style.safe(network.listeningReason ?? "")
                    + "; network changes are noticed within a minute")
        }
        return lines
    }

    private func writesText(_ style: TextStyle) -> [String] {
        guard let outbox, outbox.waiting + outbox.parked > 0 else { return [] }
        var lines: [String] = []
        if outbox.waiting > 0 {
            let oldest = outbox.oldestWaiting.map {
                ", the oldest since \(Formatting.timeWithAge($0, now: generatedAt))"
            }
            lines.append("\(Formatting.count(outbox.waiting)) waiting" + (oldest ?? ""))
        }
        if outbox.unknown > 0 {
            lines.append("\(Formatting.count(outbox.unknown)) of them may be on the server already; the daemon looks")
        }
        if let problem = outbox.problem, problem.message != daemon?.problem?.message {
            lines.append(style.paint("nothing is sent", .red) + ": " + style.safe(problem.message))
        }
        if let failing = outbox.failing { lines += failing.lines(style) }
        if outbox.parked > 0 {
            lines.append(
                style.paint("\(Formatting.count(outbox.parked)) parked", .red) + ", waiting for your decision:")
            if isRestored {
                lines.append("the database was restored from a backup, or copied: they may have been sent since")
            }
            lines.append(style.command("prsnlctl queue --state parked"))
        }
        return lines
    }

    private func accountText(_ style: TextStyle) -> String {
        switch (server.accountName, server.accountID) {
        case (let name?, let id?): "\(style.safe(name)) (\(style.safe(id)))"
        case (let only?, nil), (nil, let only?): style.safe(only)
        case (nil, nil):
            server.dialect == .cursor ? "none: the items of all accounts" : Formatting.notKnown
        }
    }

    private func copyText(_ style: TextStyle) -> String {
        if copy.complete {
            let complete = style.paint("complete", .green)
            return copy.deletionsHeld > 0 ? "\(complete), but deletions are held back" : complete
        }
        let incomplete = style.paint("incomplete", .yellow)
        return copy.newAsOf == nil && copy.live == 0 ? "\(incomplete): nothing pulled yet" : incomplete
    }

    static func unprocessed(_ count: Int) -> String {
        "\(Formatting.count(count, "item")) in process on the server for more than a day: their texts are not here"
    }

    private func textsText(_ style: TextStyle) -> [String] {
        guard let texts = copy.texts else { return [] }
        var lines: [String] = []
        if texts.asOf != nil {
            lines.append(asOf(texts.asOf))
        } else if texts.missing > 0 {
            var line =
                texts.present.map { "\(Formatting.count($0)) of \(Formatting.count($0 + texts.missing)), newest first" }
                ?? "more than \(Formatting.count(texts.missing)) missing"
            if texts.enabled == false { line += "; texts = no" }
            if let left = pull.flatMap({ $0.kind == .texts ? $0.remaining : nil }) {
                line += ", about \(Formatting.duration(left))"
            }
            lines.append(line)
        } else {
            lines.append(Formatting.notKnown)
        }
        if texts.tooLarge > 0 {
            lines.append(
                "\(Formatting.count(texts.tooLarge)) larger than text_max_size or max_answer_size, not fetched")
        }
        if let count = texts.unprocessed, count > 0 { lines.append(Self.unprocessed(count)) }
        if let failure = texts.failure, texts.failing > 0 {
            lines.append("\(Formatting.count(texts.failing)) failing: \(style.safe(failure.message))")
        }
        if let problem = texts.problem, problem != texts.failure, !isSaid(problem) {
            lines.append(style.safe(problem.message))
        }
        return lines
    }

    /// Only where something cannot be found for longer than a moment.
    private var searchText: [String] {
        guard let search = copy.search else { return [] }
        let count = Formatting.count(search.notIndexed, "item")
        if let problem = search.problem {
            let line = "\(count) to be indexed, which fails: \(SafeText.harmless(problem.message))"
            return [line, "It is tried again with the next change, and every two minutes."]
        }
        guard search.notIndexed > (search.enabled == true ? Self.indexedAtOnce : 0) else { return [] }
        switch search.enabled {
        case true:
            let left = search.progress?.remaining.map { "about \(Formatting.duration($0))" } ?? "a moment"
            return ["\(count) to be indexed; this takes \(left)"]
        case false: return ["\(count) cannot be found; search_index = no"]
        case nil:
            let them = search.notIndexed == 1 ? "it" : "them"
            return ["\(count) cannot be found until the daemon has indexed \(them)"]
        }
    }

    /// So many items are indexed in less than a second.
    package static let indexedAtOnce = 1_000

    private func verifiedText(_ style: TextStyle) -> [String] {
        guard let verified = copy.verified else { return [] }
        let ago = "\(Formatting.duration(generatedAt.duration(since: verified.at))) ago"
        guard verified.differences > 0 else { return ["equal to the server's list \(ago)"] }
        return [
            "not equal to the server's list \(ago): \(Formatting.count(verified.differences, "difference")); \(style.command("prsnlctl verify")) names them"
        ]
    }

    private var itemsText: String {
        "\(Formatting.count(copy.live)) live" + (copy.deleted > 0 ? ", \(Formatting.count(copy.deleted)) deleted" : "")
    }

    /// Enough to see where; the file's `sync_state` and `--json` have them all.
    private static let listed = 5

    private var missing: [String] {
        var lines = copy.gaps.prefix(Self.listed).map { gap in
            switch (gap.from, gap.to) {
            case (let from?, let to?): "items from \(Formatting.clock(from)) to \(Formatting.clock(to))"
            case (nil, let to?): "everything up to \(Formatting.clock(to))"
            case (let from?, nil): "everything from \(Formatting.clock(from)) on"
            case (nil, nil): "everything"
            }
        }
        if copy.gaps.count > Self.listed {
            lines.append("and \(Formatting.count(copy.gaps.count - Self.listed, "more gap"))")
        }
        lines += copy.possiblyMoreAt.prefix(Self.listed).map { "possibly more at \($0)" }
        if copy.possiblyMoreAt.count > Self.listed {
            lines.append(
                "possibly more at \(Formatting.count(copy.possiblyMoreAt.count - Self.listed, "other time"))")
        }
        if copy.rejected > 0 {
            lines.append(
                "\(Formatting.count(copy.rejected, "item")) that could not be read; see the table rejected_item")
        }
        return lines
    }

    private func unsettled(_ style: TextStyle) -> [String] {
        var lines: [String] = []
        if copy.suspects > 0 {
            lines.append(
                "\(Formatting.count(copy.suspects, "item")) gone from the server's list, deletion not yet proven")
        }
        if copy.deletionsHeld > 0 {
            lines.append("\(Formatting.count(copy.deletionsHeld, "deletion")) held back: too many to accept at once")
            lines.append("to accept them: \(style.command("prsnlctl sync --accept-deletions"))")
        }
        return lines
    }

    private func problemText(_ style: TextStyle) -> [String] {
        guard let problem = daemon?.problem, !isSaid(problem) else { return [] }
        // A heading that says nothing of the problem is left out.
        guard problem.heading != ErrorTraits.Heading.other.rawValue else { return problem.lines(style) }
        return [style.paint(style.safe(problem.heading), .red)] + problem.lines(style)
    }

    /// Whether the line of the connection says it already.
    private func isSaid(_ problem: UserFacingError) -> Bool {
        daemon?.connectivity.reason?.message == problem.message && problem.consequence == nil
    }

    private func lastErrorText(_ style: TextStyle) -> [String] {
        guard let error = lastError, error.isOver || error.message != daemon?.connectivity.reason?.message else {
            return []
        }
        let times = error.count == 1 ? "once" : "\(Formatting.count(error.count)) times"
        var lines = ["\(style.safe(error.code)) at \(style.safe(error.endpoint)), \(times)"]
        lines.append(
            "last \(Formatting.timeWithAge(error.last, now: generatedAt))" + (error.isOver ? "; it is over" : ""))
        lines.append(style.safe(error.message))
        // What to do about what is over, or about what "Problem" has said already, is noise.
        if !error.isOver, daemon?.problem?.codeName != error.code {
            lines += [error.recoverySuggestion.map(style.text), style.next(error.nextCommand)].compactMap(\.self)
        }
        return lines
    }

    private var fileText: String {
        Formatting.size(file.size)
            + (file.walSize > 0 ? " (log \(Formatting.size(file.walSize)))" : "")
    }
}

extension GoneItems {
    fileprivate func lines(_ style: TextStyle, now: Timestamp) -> [String] {
        let time = newest.deliveredAt.map { " on \(Formatting.timeWithAge($0, now: now))" } ?? ""
        let (what, them) =
            count == 1
            ? ("#\(newest.entry) was delivered\(time); the server does not have its item any more", "it")
            : (
                "\(Formatting.count(count, "item")) that were delivered from here are not on the server any more",
                "them"
            )
        return [
            "\(what), and \(count == 1 ? "it was" : "they were") not deleted from here",
            "to capture \(them) again: \(style.command(restoring))",
            "to leave it so: \(style.command("prsnlctl errors --clear"))",
        ]
    }
}

extension CopySummary.Failing {
    fileprivate func lines(_ style: TextStyle) -> [String] {
        let reason = error.map { $0.message.isEmpty ? $0.codeName : $0.message } ?? Formatting.notKnown
        if ownCount == 0 {
            let what = count == 1 ? "1 title or tag is" : "\(Formatting.count(count)) titles and tags are"
            return ["\(what) retried from time to time: \(style.safe(reason))"]
        }
        let how = ownCount == 1 ? "1 fails or is refused" : "\(Formatting.count(ownCount)) fail or are refused"
        return [
            style.paint(how, .red) + "; #\(entry): \(style.safe(reason))",
            style.command("prsnlctl queue show \(entry)"),
        ]
    }
}
