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
            CommandOption("--output", "FILE", "Replace FILE, which everybody may read, for the textfile collector.")
        ], asks: [StatusRequest.self], onlyReads: true
    ) { context, arguments throws(UserFacingError) in
        let text = Metrics(try context.answer(StatusRequest())).text
        if let path = arguments.value("--output") {
            try replace(path, by: text)
        } else {
            try context.print(text)
        }
        return .fine
    }

    /// A scrape between two states is one of the one before.
    private static func replace(_ path: String, by text: String) throws(UserFacingError) {
        let next = path + ".new"
        let file = open(next, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0o644)
        defer { if file >= 0 { close(file) } }
        let bytes = Array(text.utf8)
        guard file >= 0, fchmod(file, 0o644) == 0, write(file, bytes, bytes.count) == bytes.count,
            rename(next, path) == 0
        else {
            let reason = String(cString: strerror(errno))
            unlink(next)
            throw UserFacingError(
                .diskError, "\(path) cannot be replaced: \(reason).", consequence: "It has the metrics of before.")
        }
    }
}

/// Times are timestamps, and no ages. What is not known is `NaN`, so that each series is there from the start.
struct Metrics {
    private(set) var text = ""

    init(_ report: StatusReport) {
        let (copy, outbox, daemon) = (report.copy, report.outbox, report.daemon)
        add(
            "build_info", "The version, as a label.", .gauge,
            [(#"version="\#(daemon?.version ?? ProductVersion.current)""#, 1)])
        add("up", "Whether the daemon answered.", .gauge, [("", daemon == nil ? 0 : 1)])
        add(
            "complete", "Whether nothing of the timeline is known to be missing.", .gauge, [("", copy.complete ? 1 : 0)]
        )
        add(
            "new_items_as_of_timestamp_seconds", "All items created by then are in the copy.", .gauge,
            [("", seconds(copy.newAsOf))])
        add(
            "edits_as_of_timestamp_seconds", "All edits and deletions up to then are in the copy.", .gauge,
            [("", seconds(copy.editsAsOf))])
        add("texts_as_of_timestamp_seconds", "All texts are those of then.", .gauge, [("", seconds(copy.texts?.asOf))])
        add(
            "items", "Items of the copy, by state.", .gauge,
            [
                (#"state="live""#, Double(copy.live)), (#"state="deleted""#, Double(copy.deleted)),
                (#"state="suspect""#, Double(copy.suspects)), (#"state="rejected""#, Double(copy.rejected)),
            ])
        add("deletions_held", "Deletions that wait for a person.", .gauge, [("", Double(copy.deletionsHeld))])
        add("texts_missing", "Texts that are not here yet.", .gauge, [("", Double(copy.texts?.missing ?? 0))])
        add(
            "search_not_indexed", "Items that cannot be found yet.", .gauge,
            [("", Double(copy.search?.notIndexed ?? 0))])
        add(
            "writes", "Writes of the queue, by state.", .gauge,
            [
                (#"state="waiting""#, Double(outbox?.waiting ?? 0)),
                (#"state="unknown""#, Double(outbox?.unknown ?? 0)),
                (#"state="parked""#, Double(outbox?.parked ?? 0)),
                (#"state="failing""#, Double(outbox?.failing?.count ?? 0)),
            ])
        add(
            "oldest_write_timestamp_seconds", "When the oldest write that waits was accepted.", .gauge,
            [("", seconds(outbox?.oldestWaiting))])
        let states: [Connectivity.State] = [.online, .offline, .unreachable, .portal, .unauthorized]
        add(
            "connectivity", "1 for the state of the connection.", .gauge,
            states.map { (#"state="\#($0.rawValue)""#, daemon?.connectivity.state == $0 ? 1 : 0) })
        add("attention", "Reasons for a person to look.", .gauge, [("", Double(report.attention.count))])
        add(
            "next_sweep_timestamp_seconds", "When all edits and deletions are looked for next.", .gauge,
            [("", seconds(daemon?.nextSweepAt))])
        add("database_bytes", "The database.", .gauge, [("", Double(report.file.size))])
        add("wal_bytes", "Its write-ahead log.", .gauge, [("", Double(report.file.walSize))])
        let costs = daemon?.requests ?? []
        func sum(_ value: KeyPath<RequestCosts, Int>) -> [(String, Double)] {
            [("", Double(costs.reduce(0) { $0 + $1[keyPath: value] }))]
        }
        add("requests_total", "Requests since the daemon began.", .counter, sum(\.requests))
        add(
            "request_failures_total", "Calls that ended without the answer that was asked for.", .counter,
            sum(\.failures))
        add("received_bytes_total", "Bytes that came from the server.", .counter, sum(\.bytesReceived))
        add("sent_bytes_total", "Bytes that went to the server.", .counter, sum(\.bytesSent))
    }

    enum Kind: String { case gauge, counter }

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
