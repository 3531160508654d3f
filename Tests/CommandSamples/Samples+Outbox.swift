import Console
package import PRSNLCore

@testable package import Commands
@testable package import Requests
@testable package import Store

/// Representative writes, with fixed times.
extension Samples {
    package static let item = "59ec6da4-0000-4000-8000-000000000007"

    package static func entry(
        _ id: Int64, _ state: OutboxEntry.State = .queued, _ kind: OutboxEntry.Kind = .capture,
        payload: OutboxEntry.Payload? = nil
    ) -> OutboxEntry {
        OutboxEntry(
            .init(entry: id, state: state, kind: kind, itemID: item, acceptedAt: time("2026-11-21T04:00:00Z")),
            payload: payload ?? .create(NewItem(url: "https://example.org/\(id)")),
            idempotencyKey: "0123456789abcdef0123456789abcdef")
    }

    /// An edit of which every member has a value.
    package static var conflict: OutboxEntry {
        var entry = entry(12, .parked, .edit, payload: .edit(ItemEdit(title: "Ours", tags: ["b"])))
        entry.base = ItemEdit(title: "Before", summary: "s", tags: [])
        entry.theirs = ItemEdit(title: "Theirs", tags: ["a"])
        entry.endedAt = time("2026-11-21T04:06:00Z")
        entry.nextAttemptAt = time("2026-11-21T04:07:00Z")
        entry.behind = 11
        entry.supersededBy = 13
        entry.follows = 10
        entry.attempts = 3
        entry.lastAttemptAt = time("2026-11-21T04:05:00Z")
        entry.reachableAge = .seconds(360)
        entry.remark = "changed elsewhere"
        entry.errorCode = "edit_conflict"
        entry.errorMessage = "The item was changed on the server in between."
        return entry
    }

    package static var attempt: OutboxAttempt {
        var attempt = OutboxAttempt(.send, startedAt: time("2026-11-21T04:05:00Z"))
        attempt.endedAt = time("2026-11-21T04:05:00.25Z")
        attempt.verdict = "retry"
        attempt.errorCode = "server_error"
        attempt.status = 500
        attempt.requestID = "r-1"
        return attempt
    }

    package static func accepted(_ entry: Int64, _ state: OutboxEntry.State = .queued) -> AcceptedWrite {
        AcceptedWrite(
            entry: entry, state: state, kind: .capture, itemID: "local-b3396fde-0ad7-4fc5-83cf-0e3d1a002b33",
            wasQueued: false, supersedes: [], behind: nil)
    }

    package static let tooLong = UserFacingError(
        .writeInvalid, "title: 612 characters, at most 500 are allowed.", consequence: "Nothing was queued.")

    /// One accepted, one refused.
    package static var writes: WriteReport {
        WriteReport([.accepted(accepted(12)), .refused(tooLong)], source: .daemon, sending: .whenReachable)
    }

    package static var tally: WriteTally {
        WriteTally([.accepted(accepted(12)), .refused(tooLong)], source: .file, sending: .whenDaemonRuns)
    }

    package static var queue: QueueReport {
        QueueReport(
            OutboxList(entries: [conflict], total: 70), filter: .open, source: .daemon, connectivity: away,
            wait: ServerWait(creationsUntil: now.advanced(by: .seconds(60)), othersUntil: now), now: now)
    }

    package static var shown: EntryReport {
        EntryReport(
            conflict, [attempt], source: .file, connectivity: away,
            wait: ServerWait(creationsUntil: now.advanced(by: .seconds(60)), othersUntil: now), now: now)
    }

    package static var deliveries: DeliveryReport { DeliveryReport([conflict, entry(13, .delivered)]) }

    package static var retried: RetryReport {
        var outcome = RetryOutcome()
        outcome.touched = 2
        outcome.touchedEntries = [12, 13]
        outcome.skipped = [.init(entry: 14, reason: .isBeingSent)]
        outcome.skippedByReason = ["being_sent": 1]
        return RetryReport(outcome, dryRun: false, source: .daemon, sending: .inTurn)
    }

    package static var dropped: DropReport {
        var outcome = DropOutcome()
        outcome.dropped = [12, 13]
        outcome.dependents = [13]
        return DropReport(outcome, dryRun: false, source: .daemon)
    }

    package static var notUndone: UndoReport {
        var outcome = UndoOutcome()
        outcome.count = 1
        outcome.revived = [11]
        outcome.offers = ["prsnlctl restore 59ec6da4"]
        return UndoReport(outcome, source: .daemon)
    }

    package static var importPlan: ImportPlan {
        var plan = ImportPlan(form: "Pocket", files: 1, entries: 10_000)
        (plan.new, plan.known, plan.doubled, plan.skipped, plan.refused) = (9_512, 380, 60, 40, 8)
        (plan.dates, plan.highlights, plan.texts, plan.cut) = (9_512, 3, 2, 1)
        plan.lostTags = ["C++": 12]
        plan.minutes = 318
        return plan
    }

    package static var stats: StatsReport {
        func part(_ name: String, _ items: Int, _ texts: Int) -> TimelineStatistics.Part {
            TimelineStatistics.Part(name: name, items: items, texts: texts)
        }
        let statistics = TimelineStatistics(
            months: [part("2026-11", 12, 10), part("2026-10", 30, 30)], types: [part("article", 40, 40)],
            sites: [part("example.org", 30, 29)], tags: [part("later", 5, 5)])
        var report = StatsReport(statistics, complete, now: now)
        (report.waiting, report.age) = (2, 60)
        return report
    }

    package static var captured: BatchReport {
        var report = BatchReport()
        report.lines = 3
        report.accept(tally)
        report.refuse(.init(line: 2, error: tooLong))
        report.delivered = 1
        report.parked = 0
        report.dropped = 0
        report.superseded = 0
        return report
    }
}
