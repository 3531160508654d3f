import Console
import Glibc
import PRSNLCore
import Store

/// `prsnlctl metrics`: the status for Prometheus, in its text format 0.0.4
/// (https://prometheus.io/docs/instrumenting/exposition_formats/).
enum MetricsCommand {
    static let command = Command(
        "metrics", "Print the status as metrics for Prometheus.",
        options: [
            CommandOption("--output", "FILE", "Write into FILE (mode 0644), for the textfile collector."),
            CommandOption("--http", nil, "Answer one HTTP request on stdin, for a systemd socket with `Accept=yes`."),
        ], asks: [StatusRequest.self], hasJSON: false, onlyReads: true,
        // Root's FILE is in a folder of root's.
        needsRoot: true
    ) { context, arguments throws(UserFacingError) in
        if arguments.has("--http") {
            if arguments.has("--output") { throw arguments.failure("--http and --output exclude each other") }
            try MetricsConnection.serve { () throws(UserFacingError) in try text(context) }
        } else if let path = arguments.value("--output") {
            if let reason = WholeFile.replace(path, by: try text(context), mode: 0o644) {
                throw UserFacingError(
                    .diskError, "\(path) cannot be written: \(reason).", consequence: "Nothing was written.",
                    recoverySuggestion: "Check that its folder is there, may be written to, and has room.")
            }
        } else {
            try context.print(try text(context))
        }
        return .fine
    }

    private static func text(_ context: CommandContext) throws(UserFacingError) -> String {
        var client = RequestClient(context)
        // A scraper waits for ten seconds. The file knows the most of it, too.
        let report = try client.ask(StatusRequest(), within: .seconds(3))
        let readers = Cursor.readers(context)
        return Metrics(report, readers: (readers.behind, readers.setAside)).text
    }
}

/// Times are timestamps, and no ages. What is not known is `NaN`, so that each series is there from the start.
struct Metrics {
    private(set) var text = ""

    /// - Parameter readers: `prsnlctl changes` of the person who asks.
    init(_ report: StatusReport, readers: (behind: Int64?, setAside: Int) = (nil, 0)) {
        let (copy, outbox, daemon) = (report.copy, report.outbox, report.daemon)
        add(
            "build_info", "The version, as a label.", .gauge,
            [(#"version="\#(daemon?.version ?? ProductVersion.current)""#, 1)])
        gauge("up", "Whether the daemon answered.", daemon == nil ? 0 : 1)
        gauge("complete", "Whether nothing of the timeline is known to be missing.", copy.complete ? 1 : 0)
        gauge("new_items_as_of_timestamp_seconds", "All items created by then are in the copy.", seconds(copy.newAsOf))
        gauge(
            "edits_as_of_timestamp_seconds", "All edits and deletions up to then are in the copy.",
            seconds(copy.editsAsOf))
        gauge("texts_as_of_timestamp_seconds", "All texts are those of then.", seconds(copy.texts?.asOf))
        add(
            "items", "Items of the copy, by state.", .gauge,
            [
                (#"state="live""#, Double(copy.live)), (#"state="deleted""#, Double(copy.deleted)),
                (#"state="suspect""#, Double(copy.suspects)), (#"state="rejected""#, Double(copy.rejected)),
            ])
        gauge("deletions_held", "Deletions that wait for a person.", Double(copy.deletionsHeld))
        gauge(
            "texts_missing", "Texts that are not here yet; 5000 stands for so many or more.",
            Double(copy.texts?.missing ?? 0))
        gauge("search_not_indexed", "Items that cannot be found yet.", Double(copy.search?.notIndexed ?? 0))
        add(
            "writes", "Writes of the queue, by state.", .gauge,
            [
                (#"state="waiting""#, Double(outbox?.waiting ?? 0)),
                (#"state="unknown""#, Double(outbox?.unknown ?? 0)),
                (#"state="parked""#, Double(outbox?.parked ?? 0)),
                (#"state="failing""#, Double(outbox?.failing?.count ?? 0)),
            ])
        gauge(
            "oldest_write_timestamp_seconds", "When the oldest write that waits was accepted.",
            seconds(outbox?.oldestWaiting))
        let states: [Connectivity.State] = [.online, .offline, .unreachable, .portal, .unauthorized]
        add(
            "connectivity", "1 for the state of the connection.", .gauge,
            states.map { (#"state="\#($0.rawValue)""#, daemon?.connectivity.state == $0 ? 1 : 0) })
        gauge("attention", "Reasons for a person to look.", Double(report.attention.count))
        gauge(
            "next_sweep_timestamp_seconds", "When all edits and deletions are looked for next.",
            seconds(daemon?.nextSweepAt))
        gauge("database_bytes", "The database.", Double(report.file.size))
        gauge("wal_bytes", "Its write-ahead log.", Double(report.file.walSize))
        let costs = daemon?.requests ?? []
        func sum(of group: String? = nil, _ value: (RequestCosts) -> Double) -> Double {
            costs.filter { group == nil || Self.group(of: $0.endpoint) == group }.reduce(0) { $0 + value($1) }
        }
        let groups = ["timeline", "items", "other"]
        add(
            "requests_total", "Requests since the daemon began.", .counter,
            groups.map { name in (#"endpoint="\#(name)""#, sum(of: name) { Double($0.requests) }) })
        add(
            "request_failures_total", "Calls that ended without the answer that was asked for.", .counter,
            groups.map { name in (#"endpoint="\#(name)""#, sum(of: name) { Double($0.failures) }) })
        add(
            "request_seconds_total", "How long the requests took together.", .counter,
            [("", sum { $0.meanDuration * Double($0.requests) / 1_000 })])
        add(
            "received_bytes_total", "Bytes that came from the server.", .counter,
            [("", sum { Double($0.bytesReceived) })])
        add("sent_bytes_total", "Bytes that went to the server.", .counter, [("", sum { Double($0.bytesSent) })])
        gauge(
            "readers_behind_changes", "How far the last of the readers is behind.",
            readers.behind.map { Double($0) } ?? .nan)
        gauge("changes_set_aside", "Changes that a reader's command has refused.", Double(readers.setAside))
        gauge("verify_timestamp_seconds", "The last comparison with the server.", seconds(copy.verified?.at))
        gauge("verify_differences", "What it has found.", copy.verified.map { Double($0.differences) } ?? .nan)
    }

    /// A label has these values and no others, whatever a daemon asks a server.
    private static func group(of endpoint: String) -> String {
        if endpoint.hasSuffix(" /api/timeline") { return "timeline" }
        return endpoint.contains(" /api/items") || endpoint.contains(" /api/capture") ? "items" : "other"
    }

    enum Kind: String { case gauge, counter }

    private mutating func gauge(_ name: String, _ help: String, _ value: Double) {
        add(name, help, .gauge, [("", value)])
    }

    private mutating func add(_ name: String, _ help: String, _ kind: Kind, _ values: [(labels: String, value: Double)])
    {
        text += "# HELP prsnld_\(name) \(help)\n# TYPE prsnld_\(name) \(kind.rawValue)\n"
        for (labels, value) in values {
            text += "prsnld_\(name)\(labels.isEmpty ? "" : "{\(labels)}") \(Self.number(value))\n"
        }
    }

    private static func number(_ value: Double) -> String {
        value.isNaN ? "NaN" : value == value.rounded() && abs(value) < 1e15 ? "\(Int64(value))" : "\(value)"
    }

    private func seconds(_ time: Timestamp?) -> Double { time.map { Double($0.microseconds) / 1e6 } ?? .nan }
}
