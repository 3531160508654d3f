import Console
import NetMonitor
package import PRSNLCore

@testable package import Commands
@testable package import Requests
@testable package import Store

/// Representative states, with fixed times.
package enum Samples {
    package static func time(_ text: String) -> Timestamp {
        guard let time = Timestamp(text) else { preconditionFailure("not a time: \(text)") }
        return time
    }

    package static let now = time("2026-11-21T04:06:14.5Z")
    package static let path = "/var/lib/prsnld/prsnl.sqlite"

    package static let problem = UserFacingError(
        .unauthorized, "Invalid or expired API key. Please check your settings.",
        consequence: "The copy stays as it is.", nextCommand: "prsnld --check-config")

    /// A file that was just made.
    package static var fresh: CopySummary {
        var summary = CopySummary()
        summary.file.path = path
        summary.file.size = 53_248
        summary.file.schemaVersion = 1
        return summary
    }

    package static var complete: CopySummary {
        var summary = fresh
        summary.server.url = "https://prsnl.example.org"
        summary.server.dialect = .cursor
        summary.server.accountID = "59ec0d4e-0000-4000-8000-000000000001"
        summary.server.accountName = "Ada Lovelace"
        summary.copy.complete = true
        summary.copy.newAsOf = time("2026-11-21T04:04:00Z")
        summary.copy.editsAsOf = time("2026-11-20T23:00:00Z")
        summary.copy.live = 1_234_567
        summary.copy.deleted = 12
        summary.file.size = 912_345_678
        summary.file.walSize = 4_194_304
        return summary
    }

    package static var withTexts: CopySummary {
        var summary = complete
        var texts = CopySummary.Texts()
        texts.present = 1_234_550
        texts.missing = 15
        texts.tooLarge = 12
        texts.failing = 3
        texts.failure = UserFacingError(.serverError, "Server error: broken")
        texts.problem = texts.failure
        summary.copy.texts = texts
        return summary
    }

    package static var withGaps: CopySummary {
        var summary = complete
        summary.copy.complete = false
        summary.copy.gaps = [
            .init(from: time("2026-01-01T00:00:00Z"), to: time("2026-02-01T12:30:00Z")),
            .init(from: .earliest, to: time("2025-06-01T00:00:24.000025Z")),
        ]
        summary.copy.possiblyMoreAt = [time("2025-08-01T00:00:00.000001Z")]
        summary.copy["rejected"] = 2
        summary.copy["suspects"] = 1
        summary.copy.editsAsOf = nil
        return summary
    }

    package static var held: CopySummary {
        var summary = complete
        summary.copy.deletionsHeld = 4_321
        return summary
    }

    package static var withError: CopySummary {
        var summary = complete
        summary.lastError = .init(
            code: "connect_failed", endpoint: "GET /api/timeline",
            message: "Network error: could not connect to the server.", first: time("2026-11-21T01:00:00Z"),
            last: time("2026-11-21T04:05:44Z"), count: 37, isOver: false)
        return summary
    }

    package static var facts: EngineState {
        var facts = EngineState()
        facts.activity = .idle
        facts.nextPullAt = time("2026-11-21T04:09:00Z")
        facts.newAsOf = time("2026-11-21T04:06:00Z")
        return facts
    }

    package static var pull: Progress {
        var pull = Progress(kind: .backfill, startedAt: time("2026-11-21T04:05:00Z"))
        pull.pages = 123
        pull.items = 12_300
        pull.expectedItems = 50_000
        pull.position = time("2025-06-01T00:00:24Z")
        pull.rate = 1_230.4
        return pull
    }

    package static let connectivity = Connectivity(
        state: .unreachable, since: time("2026-11-21T01:06:14Z"),
        reason: UserFacingError(.connectFailed, "Network error: connection refused."))

    package static func report(_ summary: CopySummary, _ facts: EngineState? = facts) -> StatusReport {
        let daemon = facts.map {
            StatusReport.Daemon(pid: 4_242, since: time("2026-11-20T22:00:00Z"), engine: $0.shown)
        }
        return StatusReport(summary, daemon: daemon, engine: facts, now: now)
    }

    /// Every member has a value.
    package static var full: StatusReport {
        var facts = facts
        facts.problem = problem
        facts.pull = pull
        facts.connectivity = connectivity
        var summary = withGaps
        summary.copy.texts = withTexts.copy.texts
        summary.copy.search = search
        summary.copy.gone = GoneItems(
            count: 3, newest: GoneItem(itemID: "24581b51", entry: 12, deliveredAt: time("2026-11-20T04:05:00Z")))
        summary.copy.verified = LastVerification(at: time("2026-11-20T04:05:00Z"), differences: 2, epoch: "")
        summary.outbox.waiting = 3
        summary.outbox.unknown = 1
        summary.outbox.parked = 2
        summary.outbox.failing = CopySummary.Failing(
            count: 2, ownCount: 1, entry: 12, code: "server_error", message: "Server error: it cannot.")
        summary.outbox.oldestWaiting = time("2026-11-21T01:06:14Z")
        summary.lastError = withError.lastError
        var full = report(summary, facts)
        full.daemon?.network = .init(
            listening: .polling, listeningReason: "netlink is not permitted: Operation not permitted",
            route: "192.0.2.7 over eth0")
        var costs = RequestCosts(endpoint: "GET /api/timeline")
        costs.requests = 130
        costs.failures = 2
        costs.bytesSent = 39_000
        costs.bytesReceived = 1_100_000
        costs.meanDuration = 35
        costs.longestDuration = 310
        full.daemon?.requests = [costs]
        full.noDaemon = .init(state: .failed, reason: "exit-code", nextCommand: "journalctl -u prsnld -e")
        return full
    }

    package static var export: ExportReport {
        ExportReport(
            format: .markdown, folder: "/home/ada/vault", items: 12_431, written: 3, unchanged: 12_428, removed: 1,
            moved: 1, replaced: 1, kept: 2, busy: 1)
    }

    package static var search: SearchState {
        var state = SearchState()
        state.notIndexed = 5
        state.asOf = time("2026-11-21T04:05:00Z")
        return state
    }

    package static var listed: ItemListReport {
        var list = ItemList()
        list.items = [
            ListedItem(
                id: "59ec0d4e-0000-4000-8000-000000000001", createdAt: time("2026-11-20T23:00:00Z"), type: "article",
                title: "Sourdough for beginners", url: "https://example.org/bread", tags: ["bread"])
        ]
        list.hasMore = true
        list.unindexed = 3
        var report = ItemListReport(list, shortIDs: ["59ec0d4e"], words: "sourdough")
        report.ignored = ["*"]
        return report
    }

    package static var shownItem: ItemReport {
        var item = TimelineItem(id: "59ec0d4e-0000-4000-8000-000000000001", createdAt: time("2026-11-20T23:00:00Z"))
        item.title = "Sourdough for beginners"
        item.type = "article"
        item.url = "https://example.org/bread"
        item.tags = #"["bread","later"]"#
        var shown = ShownItem(item: item)
        shown.text.content =
            "Feed it.\n\nWait a day, then feed it again, and so on until it has doubled in size twice in a row.\u{1B}[2J"
        shown.fetchedAt = now
        shown.author = "Ada Lovelace"
        return ItemReport(shown)
    }

    private static let deletion = Deletion(at: now, entry: 12, state: .delivered)

    /// As `list --deleted` has them.
    package static var listedDeleted: ItemListReport {
        var report = listed
        report.items[0].deletion = deletion
        return report
    }

    package static var shownDeleted: ItemReport {
        var report = shownItem
        report.deletion = deletion
        report.formerTexts = [FormerText(replacedAt: now, version: now, size: 9)]
        return report
    }

    package static var verified: VerifyReport {
        var report = VerifyReport(
            server: "https://prsnl.example.org", account: "ada@example.org", from: time("2026-11-21T04:05:00Z"),
            to: now)
        report.items = 10_312
        report.requests = 108
        report.add(.onlyHere, "59ec0d4e-0000-4000-8000-000000000001", title: "Bread", readAt: now)
        report.add(.skipped, nil, reason: "the server does not show all items of one instant")
        return report
    }

    package static var fileCheck: FileCheckReport {
        FileCheckReport(
            path: "/var/lib/prsnld/prsnl.sqlite",
            invariants: [
                Invariant(name: "integrity", rule: "SQLite finds the file sound", findings: []),
                Invariant(name: "items", rule: "The counters of items are right", findings: ["live: 3, counted 2"]),
            ])
    }

    package static var digest: TimelineDigest {
        TimelineDigest(
            digest: "6f6f46f83541b8aadadc91b01f56e50c", items: 2_000, readAt: now,
            editsAsOf: time("2026-11-21T04:05:00Z"))
    }

    package static let failedSync = SyncResult(
        isComplete: false, added: 1_500, changed: 0, deleted: 2, problem: problem)

    package static var history: HistoryReport {
        var backfill = PullRecord(kind: .backfill, startedAt: time("2026-11-20T22:00:00Z"))
        backfill.id = 1
        backfill.endedAt = time("2026-11-20T22:05:30Z")
        backfill.outcome = .complete
        backfill.requests = 12_346
        backfill.pages = 12_346
        backfill.added = 1_234_567
        backfill.rejected = 2
        var sweep = PullRecord(kind: .sweep, startedAt: time("2026-11-21T03:00:00Z"))
        sweep.id = 2
        sweep.outcome = .failed
        sweep.errorCode = "connect_failed"
        sweep.suspects = 1
        return HistoryReport(source: .file, pulls: [sweep, backfill])
    }
}
