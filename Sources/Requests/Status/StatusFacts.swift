package import Console
import PRSNLClient
package import PRSNLCore
import Store

/// A fact of the status, and all that is said of it: its row in `prsnlctl status`, its finding in `doctor`, its metrics, and its
/// part of the line in `systemctl status`. A new one is an entry in `all`.
package struct StatusFact {
    /// Of its row; empty for one that has none.
    package let label: String
    /// Whose finding it is in `doctor`. Facts of one check are judged together.
    package let check: (group: Statement.Group, name: String)?
    /// What `doctor` says if there is nothing to say.
    package let calm: (StatusReport) -> String?
    package let say: (StatusReport) -> [Statement]
    package var metrics: [Metric] = []

    private init(
        _ label: String, _ group: Statement.Group = .copy, _ check: String? = nil,
        calm: @escaping (StatusReport) -> String? = { _ in nil },
        @Listing<Statement> _ say: @escaping (StatusReport) -> [Statement]
    ) {
        (self.label, self.check, self.calm, self.say) = (label, check.map { (group, $0) }, calm, say)
    }

    private init(_ count: CopyCount) {
        self.init(count.label, .copy, count.check) { report in
            if report.copy[count.name] > 0 {
                Statement(
                    "\(Formatting.count(report.copy[count.name], count.noun)) \(count.text)",
                    count.check.map { _ in .warning }, cure: count.cure)
            }
        }
        if let help = count.help { self = metric(count.name, help) { $0.copy.counts[count.name] } }
    }

    private func metric(_ name: String, _ help: String, _ value: @escaping (StatusReport) -> Int?) -> StatusFact {
        adding(Metric(name, help) { [("", value($0).map { Double($0) })] })
    }

    /// A timestamp, and no age.
    private func metric(
        _ name: String, _ help: String, at time: @escaping (StatusReport) -> Timestamp?
    ) -> StatusFact {
        adding(
            Metric(name + "_timestamp_seconds", help) { [("", time($0).map { Double($0.microseconds) / 1e6 })] })
    }

    private func metric(
        _ name: String, _ help: String, by label: String, _ values: @escaping (StatusReport) -> [(String, Int)]
    ) -> StatusFact {
        adding(Metric(name, help, by: label) { values($0).map { ($0.0, Double($0.1)) } })
    }

    private func adding(_ metrics: Metric...) -> StatusFact {
        var fact = self
        fact.metrics += metrics
        return fact
    }

    /// In the order of the rows.
    @Listing<StatusFact> package static var all: [StatusFact] {
        StatusFact("Daemon") { $0.daemonSays }
            .metric("up", "Whether the daemon answered.") { $0.daemon == nil ? 0 : 1 }
            .metric("build_info", "The version, as a label.", by: "version") {
                [($0.daemon?.version ?? ProductVersion.current, 1)]
            }
        StatusFact("Server", .server, "dialect") { $0.serverSays }
        StatusFact("Connection", .machine, "netlink", calm: \.hearsOfTheNetwork) { $0.connectionSays }
            .metric("connectivity", "1 for the state of the connection.", by: "state") { report in
                [Connectivity.State.online, .offline, .unreachable, .portal, .unauthorized].map {
                    ($0.rawValue, report.daemon?.connectivity.state == $0 ? 1 : 0)
                }
            }
        StatusFact("Account") { "\($0.accountText)" }
        StatusFact("Copy", .copy, "items") { $0.copySays }
            .metric("complete", "Whether nothing of the timeline is known to be missing.") { $0.copy.complete ? 1 : 0 }
        StatusFact("New items") { "\($0.asOf($0.copy.newAsOf))" }
            .metric("new_items_as_of", "All items created by then are in the copy.", at: \.copy.newAsOf)
        StatusFact("Edits") { $0.editsSay }
            .metric("edits_as_of", "All edits and deletions up to then are in the copy.", at: \.copy.editsAsOf)
            .metric("next_sweep", "When all edits and deletions are read next.", at: \.daemon?.nextSweepAt)
        StatusFact("Texts", .copy, "texts") { $0.textsSay }
            .metric("texts_as_of", "All texts are those of then.", at: \.copy.texts?.asOf)
            .metric("texts_missing", "Texts that are not here yet; 5000 stands for so many or more.") {
                $0.copy.texts?.missing ?? 0
            }
        StatusFact("Search") { $0.searchSays }
            .metric("search_not_indexed", "Items that cannot be found yet.") { $0.copy.search?.notIndexed ?? 0 }
        StatusFact("Verified") { $0.verifiedSays }
            .metric("verify", "The last comparison with the server.", at: \.copy.verified?.at)
            .metric("verify_differences", "What it has found.") { $0.copy.verified?.differences }
        StatusFact("Items", .copy, "items") {
            let deleted = $0.copy.deleted > 0 ? ", \(Formatting.count($0.copy.deleted)) deleted" : ""
            Statement("\(Formatting.count($0.copy.live)) live\(deleted)", .ok)
        }
        .metric("items", "Items of the copy, by state.", by: "state") {
            [
                ("live", $0.copy.live), ("deleted", $0.copy.deleted), ("suspect", $0.copy["suspects"]),
                ("rejected", $0.copy["rejected"]),
            ]
        }
        StatusFact("Missing", .server, "dialect") { $0.missingSays }
        StatusFact("Unsettled", .copy, "deletions") { $0.unsettledSays }
            .metric("deletions_held", "Deletions that wait for a person.") { $0.copy.deletionsHeld }
        for count in CopyCount.all { StatusFact(count) }
        StatusFact("Gone") { if let gone = $0.copy.gone { gone.says(now: $0.generatedAt) } }
        StatusFact("Writes", .copy, "writes", calm: { $0.outbox.map { _ in "none waits" } }) { $0.writesSay }
            .metric("oldest_write", "When the oldest waiting write was accepted.", at: \.outbox?.oldestWaiting)
            .metric("writes", "Writes of the queue, by state.", by: "state") {
                [
                    ("waiting", $0.outbox?.waiting ?? 0), ("unknown", $0.outbox?.unknown ?? 0),
                    ("parked", $0.outbox?.parked ?? 0), ("failing", $0.outbox?.failing?.count ?? 0),
                ]
            }
        StatusFact("Pull") { if let pull = $0.pull { "\(pull.text)" } }
        StatusFact("Problem", .server, "account") { $0.problemSays(ofFile: false) }
            .metric("attention", "Reasons for a person to look.") { $0.attention.count }
        StatusFact("Problem", .file, "database") { $0.problemSays(ofFile: true) }
        StatusFact("Last error", .copy, "last_error") { $0.lastErrorSays }
        StatusFact("File") {
            "\($0.file.path)"
            "\(Formatting.size($0.file.size))\($0.file.walSize > 0 ? " (log \(Formatting.size($0.file.walSize)))" : "")"
        }
        .metric("database_bytes", "The database.") { Int($0.file.size) }
        .metric("wal_bytes", "Its write-ahead log.") { Int($0.file.walSize) }
        StatusFact("") { _ in [Statement]() }
            .adding(
                .ofRequests("requests_total", "Requests since the daemon began.", grouped: true) {
                    Double($0.requests)
                },
                .ofRequests("request_failures_total", "Calls that ended without the requested answer.", grouped: true) {
                    Double($0.failures)
                },
                .ofRequests("request_seconds_total", "How long the requests took together.") {
                    $0.meanDuration * Double($0.requests) / 1_000
                },
                .ofRequests("received_bytes_total", "Bytes that came from the server.") { Double($0.bytesReceived) },
                .ofRequests("sent_bytes_total", "Bytes that went to the server.") { Double($0.bytesSent) })
    }
}

/// A sentence of the status. `doctor` shows those that have a level.
package struct Statement {
    /// How a check ended. What could not be looked at is never taken for good.
    package enum Level: String, Sendable, Codable, CaseIterable {
        case ok
        case notChecked = "not_checked"
        case warning, failed
    }

    /// What a check is about; in the order of the text of `doctor`.
    package enum Group: String, Sendable, Codable, CaseIterable {
        case configuration, credentials, server, copy, file, machine, service
    }

    /// For the one line of systemd, with the time that belongs to it.
    package typealias Brief = (text: Advice, since: String, time: Timestamp?)

    /// What stands painted before the rest.
    package var lead: (text: String, colour: TextStyle.Colour?)? = nil
    package var text: Advice
    package var level: Level? = nil
    package var brief: Brief? = nil
    /// What only `doctor` adds.
    package var cure: Advice? = nil
    package var next: NextCommand? = nil
    /// A line of its own, if the daemon that is meant has the command.
    private var command: NextCommand?

    package init(
        lead: String? = nil, colour: TextStyle.Colour? = .red, _ text: Advice, _ level: Level? = nil,
        brief: Brief? = nil, cure: Advice? = nil, next: NextCommand? = nil
    ) {
        self.lead = lead.map { ($0, colour) }
        (self.text, self.level, self.brief, self.cure, self.next) = (text, level, brief, cure, next)
    }

    fileprivate init(command: NextCommand) { (text, self.command) = ("", command) }

    package func paragraph(_ style: TextStyle) -> String? {
        if let command { return style.next(command) }
        return (lead.map { style.paint(style.safe($0.text), $0.colour) } ?? "") + style.text(text)
    }

    /// As plain text.
    package var found: String { (lead?.text ?? "") + text.description }
}

extension Listing<Statement> {
    package static func buildExpression(_ text: Advice) -> [Statement] { [Statement(text)] }
}

// MARK: What is said

extension StatusReport {
    fileprivate func asOf(_ time: Timestamp?) -> String {
        time.map { "as of \(Formatting.timeWithAge($0, now: generatedAt))" } ?? Formatting.notKnown
    }

    @Listing<Statement> fileprivate var daemonSays: [Statement] {
        if let daemon {
            "\(daemon.version), pid \(daemon.pid), running since \(Formatting.time(daemon.since))"
            if let wait = daemon.nextPullAt?.duration(since: generatedAt) {
                "\(daemon.activity.rawValue); next pull \(wait > .zero ? "in \(Formatting.duration(wait))" : "now")"
            } else {
                "\(daemon.activity.rawValue)"
            }
        } else {
            let state = noDaemon?.state ?? .stopped
            Statement(lead: state.word, colour: state.isFailure ? .red : nil, "; showing data from the file")
            if let reason = noDaemon?.reason { "\(reason)" }
            if let command = noDaemon?.nextCommand { Statement(command: command) }
        }
    }

    @Listing<Statement> fileprivate var serverSays: [Statement] {
        if let url = server.url {
            let dialect = server.dialect.map { ", dialect \($0.rawValue)" }
            Statement("\(url)\(dialect ?? "")", dialect == nil ? .notChecked : .ok)
        } else {
            Statement("known after the first pull", .notChecked)
        }
    }

    fileprivate var hearsOfTheNetwork: String? {
        daemon?.network?.listening == .netlink ? "the kernel tells of changes of the network" : nil
    }

    @Listing<Statement> fileprivate var connectionSays: [Statement] {
        if let connectivity = daemon?.connectivity {
            let words = connectivity.state.words
            let since = connectivity.since.map { " since \(Formatting.timeWithAge($0, now: generatedAt))" } ?? ""
            let whole = pull?.expectedItems.map { " of \(Formatting.count($0))" } ?? ""
            let pulling = pull.map { ", pulling (\(Formatting.count($0.items))\(whole) read)" } ?? ""
            let isGood = connectivity.state == .online || connectivity.state == .unknown
            Statement(
                lead: words.name, colour: words.colour, "\(since)",
                brief: ("\(words.brief)\(isGood ? pulling : "")", "since", isGood ? nil : connectivity.since))
            if let reason = connectivity.reason { "\(reason.message)" }
            if let consequence = words.consequence { "\(consequence)" }
            if let network = daemon?.network, network.listening == .polling {
                Statement(
                    "\(network.listeningReason ?? ""); network changes are noticed within a minute", .warning,
                    cure: "Allow AF_NETLINK (RestrictAddressFamilies= in the unit).")
            }
        }
    }

    fileprivate var accountText: String {
        switch (server.accountName, server.accountID) {
        case (let name?, let id?): "\(name) (\(id))"
        case (let only?, nil), (nil, let only?): only
        case (nil, nil): server.dialect == .cursor ? "none: the items of all accounts" : Formatting.notKnown
        }
    }

    @Listing<Statement> fileprivate var copySays: [Statement] {
        let items = Formatting.count(copy.live, "item")
        if copy.complete {
            Statement(
                lead: "complete", colour: .green, copy.deletionsHeld > 0 ? ", but deletions are held back" : "", .ok,
                brief: ("\(items), complete", "as of", copy.newAsOf))
        } else {
            let isFresh = copy.newAsOf == nil && copy.live == 0
            Statement(
                lead: "incomplete", colour: .yellow, isFresh ? ": nothing pulled yet" : "",
                pull == nil ? .warning : .ok,
                brief: ("\(items), incomplete", "", nil), next: "prsnlctl status")
        }
    }

    @Listing<Statement> fileprivate var editsSay: [Statement] {
        "and deletions \(asOf(copy.editsAsOf))"
        // Where the server's list does not tell what is gone.
        let collisions = Formatting.count(copy.possiblyMoreAt.count, "timestamp collision")
        let places = [
            copy.possiblyMoreAt.isEmpty ? nil : "at \(collisions)",
            copy["rejected"] > 0 ? "around items that could not be read" : nil,
        ].compactMap(\.self)
        if copy.editsAsOf != nil, !places.isEmpty { "except for deletions \(places.joined(separator: " and "))" }
    }

    @Listing<Statement> fileprivate var textsSay: [Statement] {
        if let texts = copy.texts {
            // A release without them, which nothing here can change.
            let isUnavailable = texts.problem?.code == .textsUnavailable
            let bad: Statement.Level = texts.enabled == false || isUnavailable ? .ok : .warning
            textsHere(texts)
            if texts.tooLarge > 0 {
                Statement(
                    "\(Formatting.count(texts.tooLarge)) larger than text_max_size or max_answer_size, not fetched",
                    bad, cure: "Raise the limit that `prsnlctl show ID` names, or use `prsnlctl sync --text ID`.")
            }
            if let count = texts.unprocessed, count > 0 {
                let items = Formatting.count(count, "item")
                Statement("\(items) in process on the server for more than a day: their texts are not here", .ok)
            }
            if let failure = texts.failure, texts.failing > 0 {
                let text: Advice = "\(Formatting.count(texts.failing)) failing: \(failure.message)"
                Statement(text, bad, cure: failure.recoverySuggestion, next: "prsnlctl errors")
            }
            if let problem = texts.problem, problem != texts.failure, !isSaid(problem) {
                Statement("\(problem.message)", bad, cure: problem.recoverySuggestion, next: "prsnlctl errors")
            }
        }
    }

    private func textsHere(_ texts: CopySummary.Texts) -> Statement {
        if texts.asOf != nil { return Statement("\(asOf(texts.asOf))", .ok) }
        if texts.missing == 0 {
            return copy.complete
                ? Statement("all that there are", .ok) : Statement("\(Formatting.notKnown)", .notChecked)
        }
        let share =
            texts.present.map { "\(Formatting.count($0)) of \(Formatting.count($0 + texts.missing)), newest first" }
            ?? "more than \(Formatting.count(texts.missing)) missing"
        let left = pull.flatMap { $0.kind == .texts ? $0.remaining : nil }
        let time = left.map { ", about \(Formatting.duration($0))" } ?? ""
        return Statement("\(share)\(texts.enabled == false ? "; texts = no" : "")\(time)", .ok)
    }

    /// So many items are indexed in less than a second.
    package static let indexedAtOnce = 1_000

    /// Only where something cannot be found for longer than a moment.
    @Listing<Statement> fileprivate var searchSays: [Statement] {
        if let search = copy.search {
            let count = Formatting.count(search.notIndexed, "item")
            if let problem = search.problem {
                "\(count) to be indexed, which fails: \(problem.message)"
                "It is tried again with the next change, and every two minutes."
            } else if search.notIndexed > (search.enabled == true ? Self.indexedAtOnce : 0) {
                switch search.enabled {
                case true?:
                    let left = search.progress?.remaining.map { "about \(Formatting.duration($0))" }
                    "\(count) to be indexed; this takes \(left ?? "a moment")"
                case false?: "\(count) cannot be found; search_index = no"
                case nil:
                    "\(count) cannot be found until the daemon has indexed \(search.notIndexed == 1 ? "it" : "them")"
                }
            }
        }
    }

    @Listing<Statement> fileprivate var verifiedSays: [Statement] {
        if let verified = copy.verified {
            let ago = "\(Formatting.duration(generatedAt.duration(since: verified.at))) ago"
            let differences = Formatting.count(verified.differences, "difference")
            if verified.differences > 0 {
                "not equal to the server's list \(ago): \(differences); `prsnlctl verify` names them"
            } else {
                "equal to the server's list \(ago)"
            }
        }
    }

    /// Enough to see where; the file's `sync_state` and `--json` have them all.
    private static let listed = 5

    @Listing<Statement> fileprivate var missingSays: [Statement] {
        for gap in copy.gaps.prefix(Self.listed) {
            switch (gap.from, gap.to) {
            case (let from?, let to?): "items from \(Formatting.clock(from)) to \(Formatting.clock(to))"
            case (nil, let to?): "everything up to \(Formatting.clock(to))"
            case (let from?, nil): "everything from \(Formatting.clock(from)) on"
            case (nil, nil): "everything"
            }
        }
        let gaps = copy.gaps.count - Self.listed
        if gaps > 0 { "and \(Formatting.count(gaps, "more gap"))" }
        let times = copy.possiblyMoreAt.prefix(Self.listed).map(\.description)
        let others = copy.possiblyMoreAt.count - times.count
        if !times.isEmpty {
            let last = others > 0 ? [Formatting.count(others, "other time")] : []
            Statement(
                "possibly more at \((times + last).joined(separator: ", "))", .warning,
                cure: "The copy lacks these; docs/errors.md (crowded_instant).")
        }
    }

    @Listing<Statement> fileprivate var unsettledSays: [Statement] {
        if copy.deletionsHeld > 0 {
            let held = "\(Formatting.count(copy.deletionsHeld, "deletion")) held back"
            Statement(
                "\(held): too many to accept at once", .warning, brief: ("\(held)", "", nil),
                cure: "If they are meant:", next: "prsnlctl sync --accept-deletions")
            "to accept them: `prsnlctl sync --accept-deletions`"
        }
    }

    /// A write that waits for longer while the server answers is worth a look.
    private static let longWait: Duration = .seconds(3_600)

    @Listing<Statement> fileprivate var writesSay: [Statement] {
        if let outbox {
            let count = Formatting.count(outbox.waiting)
            if outbox.waiting > 0 {
                let age = outbox.oldestWaiting.map { generatedAt.duration(since: $0) } ?? .zero
                let isStuck = age > Self.longWait && daemon?.connectivity.state == .online
                let since = outbox.oldestWaiting.map {
                    ", the oldest since \(Formatting.timeWithAge($0, now: generatedAt))"
                }
                Statement(
                    "\(count) waiting\(since ?? "")", isStuck ? .warning : .ok, brief: ("\(count) queued", "", nil),
                    cure: isStuck ? "The server answers, and they do not arrive." : nil, next: "prsnlctl queue")
            }
            if outbox.unknown > 0 {
                "\(Formatting.count(outbox.unknown)) of them may be on the server already; the daemon looks"
            }
            if let problem = outbox.problem, problem.message != daemon?.problem?.message {
                Statement(lead: "nothing is sent", ": \(problem.message)")
            }
            if let failing = outbox.failing { failing.says }
            if outbox.parked > 0 {
                let parked = "\(Formatting.count(outbox.parked)) parked"
                Statement(
                    lead: parked, ", waiting for your decision:", .warning,
                    brief: ("\(parked): see `prsnlctl queue`", "", nil), next: "prsnlctl queue --state parked")
                if isRestored {
                    "the database was restored from a backup, or copied: they may have been sent since"
                }
                Statement(command: "prsnlctl queue --state parked")
            }
        }
    }

    @Listing<Statement> fileprivate func problemSays(ofFile isOfFile: Bool) -> [Statement] {
        if let problem = daemon?.problem, problem.code.traits.flags.contains(.isOfFile) == isOfFile {
            let isFailure = (isOfFile || problem.code.needsPerson) && problem.code != .deletionsHeld
            // The state of the connection says some of it already, as do deletions that are held back.
            let isNews = problem.code != daemon?.connectivity.reason?.code && copy.deletionsHeld == 0
            let name = problem.code.rawValue.split(separator: "_").joined(separator: " ")
            let brief: Statement.Brief? = isNews ? ("problem: \(name)", "", nil) : nil
            // A heading that says nothing of the problem is left out.
            let heading = problem.heading == ErrorTraits.Heading.other.rawValue ? nil : problem.heading
            if !isSaid(problem) {
                if let heading { Statement(lead: heading, "") }
                Statement(
                    "\(problem.message)", isFailure ? .failed : nil, brief: brief, cure: problem.recoverySuggestion,
                    next: problem.nextCommand)
                if let consequence = problem.consequence { "\(consequence)" }
                problem.recoverySuggestion
                if let command = problem.otherCommand { Statement(command: command) }
            }
        }
    }

    /// Whether the line of the connection says it already.
    private func isSaid(_ problem: UserFacingError) -> Bool {
        daemon?.connectivity.reason?.message == problem.message && problem.consequence == nil
    }

    @Listing<Statement> fileprivate var lastErrorSays: [Statement] {
        if let error = lastError, error.isOver || error.message != daemon?.connectivity.reason?.message {
            // What to do about what is over, or about what "Problem" has said already, is noise.
            let isNews = !error.isOver && daemon?.problem?.codeName != error.code
            let isOfWrites = error.endpoint.hasPrefix("outbox (") && outbox?.failing != nil
            let times = error.count == 1 ? "once" : "\(Formatting.count(error.count)) times"
            Statement(
                "\(error.code) at \(error.endpoint), \(times)", isNews && !isOfWrites ? .warning : nil,
                cure: error.recoverySuggestion, next: error.nextCommand)
            "last \(Formatting.timeWithAge(error.last, now: generatedAt))\(error.isOver ? "; it is over" : "")"
            "\(error.message)"
            if isNews, let suggestion = error.recoverySuggestion { suggestion }
            if isNews, let command = error.nextCommand { Statement(command: command) }
        }
    }
}

extension GoneItems {
    @Listing<Statement> fileprivate func says(now: Timestamp) -> [Statement] {
        let time = newest.deliveredAt.map { " on \(Formatting.timeWithAge($0, now: now))" } ?? ""
        if count == 1 {
            """
            #\(newest.entry) was delivered\(time); the server does not have its item any more, and it was not deleted \
            from here
            """
            "to capture it again: \(restoring)"
        } else {
            """
            \(Formatting.count(count, "item")) that were delivered from here are not on the server any more, and they were \
            not deleted from here
            """
            "to capture them again: \(restoring)"
        }
        "to leave it so: `prsnlctl errors --clear`"
    }
}

extension CopySummary.Failing {
    @Listing<Statement> fileprivate var says: [Statement] {
        let reason = error.map { $0.message.isEmpty ? $0.codeName : $0.message } ?? Formatting.notKnown
        if ownCount == 0 {
            let what = count == 1 ? "1 title or tag is" : "\(Formatting.count(count)) titles and tags are"
            "\(what) retried from time to time: \(reason)"
        } else {
            let how = ownCount == 1 ? "1 fails or is refused" : "\(Formatting.count(ownCount)) fail or are refused"
            let show: NextCommand = "prsnlctl queue show \(entry)"
            Statement(lead: how, "; #\(entry): \(reason)", .warning, cure: error?.recoverySuggestion, next: show)
            Statement(command: show)
        }
    }
}
