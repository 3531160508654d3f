import CommandSamples
import Control
import PRSNLCore
import Testing

@testable import Commands
@testable import Console
@testable import Requests
@testable import Store

/// What people read about writes.
@Suite struct OutboxTextTests {
    private func style() -> TextStyle { TextStyle() }

    private func report(
        _ state: OutboxEntry.State, waited: Bool = false, sending: Sending = .whenReachable,
        _ change: (inout WriteReport.Write) -> Void = { _ in }
    ) -> WriteReport {
        var report = WriteReport([.accepted(Samples.accepted(12, state))], source: .daemon, sending: sending)
        report.waited = waited
        change(&report.writes[0])
        return report
    }

    @Test(arguments: [
        (Sending.inTurn, "queued #12 (will be sent by the daemon)\n"),
        (.whenReachable, "queued #12 (will be sent when the server is reachable)\n"),
        (.whenAuthorized, "queued #12 (will be sent when the server accepts the credentials: see `prsnlctl whoami`)\n"),
        (.whenDaemonRuns, "queued #12 (will be sent when the daemon runs)\n"),
    ])
    func aQueuedWriteSaysWhenItWillBeSent(sending: Sending, text: String) {
        let report = report(.queued, sending: sending)
        #expect(report.text(style()) == text)
        #expect(report.exitCode == .fine)
    }

    @Test func aDeliveredWriteNamesWhatTheServerMadeOfIt() {
        let delivered = report(.delivered, waited: true) { $0.itemID = Samples.item }
        #expect(delivered.text(style()) == "delivered #12 → 59ec6da4\n")
        #expect(delivered.exitCode == .fine)
        let known = report(.delivered, waited: true) {
            $0.itemID = Samples.item
            $0.remark = "was already there"
        }
        #expect(known.text(style()) == "delivered #12 → 59ec6da4 (was already there)\n")
    }

    @Test func whatWasNotDeliveredInTimeIsSaidToBeOnDisk() {
        let waited = report(.queued, waited: true) {
            $0.error = UserFacingError(.connectFailed, "No connection.")
            $0.behind = 11
        }
        #expect(
            waited.text(style())
                == "queued #12 (on disk, not delivered yet; No connection; waits for #11; "
                + "will be sent when the server is reachable)\n")
        #expect(waited.exitCode == .notDelivered)
        let held = report(.queued, waited: true, sending: .inTurn) { $0.awaitsDecision = 11 }
        #expect(held.text(style()) == "queued #12 (on disk, not delivered yet; waits for your decision about #11)\n")
        let there = report(.unknown, waited: true, sending: .inTurn) { $0.error = UserFacingError(.conflict, "There.") }
        #expect(there.text(style()) == "unknown #12 (on disk, not delivered yet; There; will be looked up again)\n")
        #expect(report(.unknown, waited: true).exitCode == .notDelivered)
        #expect(report(.dropped, waited: true).exitCode == .notDelivered)
    }

    @Test func aParkedWriteSaysWhyAndAsksForAttention() {
        var report = report(.queued, waited: true)
        report.update(Samples.deliveries)
        #expect(
            report.text(style())
                == "parked #12: The item was changed on the server in between (`prsnlctl queue show 12`)\n")
        #expect(report.exitCode == .needsAttention)
        #expect(report.waiting.isEmpty)
    }

    @Test func whatAWriteMadeSuperfluousIsNamed() {
        let replaced = report(.queued) { $0.supersedes = [10, 11] }
        #expect(
            replaced.text(style())
                == "queued #12 (takes the place of #10, #11; will be sent when the server is reachable)\n")
        let nothing = report(.superseded, waited: true) { $0.supersedes = [10] }
        #expect(nothing.text(style()) == "nothing to send for #12: takes back #10\n")
        #expect(nothing.exitCode == .fine)
        #expect(report(.queued) { $0.wasQueued = true }.text(style()).hasPrefix("queued #12 (was waiting already; "))
    }

    @Test func refusedWritesAreTalkAndTheOthersData() throws {
        let report = Samples.writes
        #expect(report.text(style()) == "queued #12 (will be sent when the server is reachable)\n")
        try expectScreen("refusedWritesAreTalkAndTheOthersData", report.refusals(style(), names: ["a", "b"]))
        #expect(report.exitCode == .error)
    }

    @Test func oneReasonForManyRefusalsIsSaidOnce() {
        let one = UserFacingError(.writeInvalid, "The tag was refused.", consequence: "Nothing was queued.")
        let other = UserFacingError(.itemUnknown, "There is no such item.", consequence: "Nothing was queued.")
        let report = WriteReport(
            (0..<168).map { .refused($0 == 7 ? other : one) }, source: .daemon, sending: .whenReachable)
        let text = report.refusals(style(), names: (0..<168).map { "item-\($0)" })
        #expect(
            text.hasPrefix(
                "prsnlctl: item-0, item-1, item-2 and 164 more: The tag was refused.\n  These were not queued.\n"))
        #expect(text.contains("prsnlctl: item-7: There is no such item.\n  This one was not queued.\n"))
        #expect(text.ranges(of: "prsnlctl: ").count == 2, "\(text)")
    }

    @Test func theQueueShowsWhatWaitsAndHowMuchMoreThereIs() {
        var waiting = Samples.entry(7)
        waiting.nextAttemptAt = Samples.time("2026-11-21T04:08:14.5Z")
        waiting.attempts = 1
        waiting.errorCode = "connect_failed"
        waiting.errorMessage = "No connection."
        var behind = Samples.entry(8, .queued, .delete, payload: .delete)
        behind.behind = 7
        let note = Samples.entry(9, .queued, .note, payload: .create(NewItem(note: "\n First\u{1B}[2J\nsecond")))
        let list = OutboxList(entries: [waiting, behind, note], total: 100_003)
        let report = QueueReport(list, filter: .open, source: .daemon, now: Samples.now)
        #expect(
            report.text(style()) == """
                #7  queued  capture  https://example.org/7
                    since 2026-11-21 04:00:00 UTC (6 min ago); next attempt in 2 min; 1 attempt
                    No connection.
                #8  queued  delete  59ec6da4-0000-4000-8000-000000000007
                    since 2026-11-21 04:00:00 (6 min ago); waits for #7
                #9  queued  note   First\\u{1B}[2J
                    since 2026-11-21 04:00:00 (6 min ago)
                and 100,000 more

                """)
        for (code, words) in [
            ("edit_conflict", "To overwrite the server's values: "), ("write_invalid", "To send it: "),
        ] {
            var parked = Samples.entry(7, .parked)
            parked.errorCode = code
            let list = OutboxList(entries: [parked], total: 1)
            let text = QueueReport(list, filter: .open, source: .daemon, now: Samples.now).text(style())
            #expect(text.contains(words) && text.contains("To compare") == (code == "edit_conflict"), "\(text)")
        }
        var deletion = Samples.entry(7, .parked, .delete, payload: .delete)
        (deletion.errorCode, deletion.wouldDeleteCapture) = ("database_restored", true)
        let text = QueueReport(
            OutboxList(entries: [deletion], total: 1), filter: .open, source: .daemon, now: Samples.now
        ).text(wide)
        #expect(text.contains("prsnlctl delete \(Samples.item)") && !text.contains("retry-queue"), "\(text)")
        let nothing = QueueReport(OutboxList(entries: [], total: 0), filter: .open, source: .file, now: Samples.now)
        #expect(nothing.text(style()) == "The queue is empty.\n")
    }

    @Test func anEntryShowsEveryRequestAndBothSidesOfAConflict() {
        let text = Samples.shown.text(style())
        for part in [
            "Write        #12, edit\n", "Title        Ours\n",
            """
            Conflict     Title, on the server: Theirs
                         Title, from here: Ours
                         Title, before both: Before
                         Tags, on the server: a

            """,
            """
            Requests     1. 2026-11-21 04:05:00, send, took 250 ms, HTTP 500, server_error,
                         retry

            """,
            "retry-queue 12`", "queue drop 12`",
        ] {
            #expect(text.contains(part), "\(text)")
        }
    }

    /// What an edit does not set stays on the server, and is no part of the conflict.
    @Test func aConflictHasNoLinesOfWhatTheEditDoesNotSet() {
        var entry = Samples.conflict
        entry.payload = .edit(ItemEdit(title: "Ours"))
        let text = EntryReport(entry, [], source: .file, now: Samples.now).text(style())
        #expect(text.contains("Title, from here: Ours") && !text.contains("Tags, "), "\(text)")
    }

    @Test func retryingSaysHowManyAndWhyNotTheOthers() throws {
        try expectScreen("retryingSaysHowManyAndWhyNotTheOthers", Samples.retried.text(style()))
        var held = Samples.retried
        held.head.sending = .whenPossible
        #expect(
            held.text(style()).contains("They will be sent later: see `prsnlctl queue`."),
            "\(held.text(style()))")
        let nothing = RetryReport(RetryOutcome(), dryRun: true, source: .file, sending: .whenDaemonRuns)
        #expect(nothing.text(style()) == "Nothing to do.\n")
        var outcome = RetryOutcome()
        outcome.skippedByReason = ["already_due": 1]
        for (sending, next) in [
            (Sending.whenReachable, "will be sent when the server is reachable."),
            (.inTurn, "will be tried within ten seconds, or when the server's own"),
        ] {
            let text = RetryReport(outcome, dryRun: false, source: .daemon, sending: sending).text(style())
                .split(separator: "\n").joined(separator: " ")
            #expect(text.hasPrefix("Nothing to change: the due writes \(next)"), "\(text)")
        }
    }

    @Test func droppingNamesWhatWentAndWhatWouldHaveToGo() {
        #expect(Samples.dropped.text(style()) == "dropped #12, #13\n")
        #expect(Samples.dropped.exitCode == .fine)
        var outcome = DropOutcome(dropped: [12], revived: [11])
        let back = DropReport(outcome, dryRun: false, source: .daemon).text(style())
        #expect(back == "dropped #12\nno longer replaced: #11\n")
        outcome = DropOutcome()
        outcome.dependents = [13, 14]
        let held = DropReport(outcome, dryRun: false, source: .daemon)
        #expect(held.text(style()) == "Nothing was dropped: #13, #14 would have to go, too (--yes).\n")
        #expect(held.exitCode == .error)
    }

    @Test func manyCapturesEndInASummary() {
        var report = Samples.captured
        #expect(report.text(style()) == "queued #12, refused 1, delivered 1\n")
        #expect(report.exitCode == .error)
        report.refused = 0
        #expect(report.exitCode == .fine)
        report.delivered = 0
        #expect(report.exitCode == .notDelivered)
        #expect(
            report.text(style())
                == "queued #12, delivered 0; 1 on disk and not delivered yet; will be sent when the\n"
                + "daemon runs\n")
        report.parked = 1
        #expect(report.exitCode == .needsAttention)
        report.delivered = nil
        report.parked = nil
        #expect(report.text(style()) == "queued #12; will be sent when the daemon runs\n")
        #expect(BatchReport().text(style()) == "queued 0\n")
    }

    @Test func onlySoManyRefusalsAreKept() {
        var report = BatchReport()
        for line in 1...1_000 { report.refuse(.init(line: line, error: Samples.tooLong)) }
        #expect(report.refused == 1_000)
        #expect(report.refusals.count == 100)
    }

    @Test(arguments: [40, 60, 80])
    func noLineIsWiderThanTheTerminal(width: Int) {
        var style = style()
        style.width = width
        style.rowWidth = width
        var long = Samples.conflict
        long.payload = .edit(ItemEdit(title: String(repeating: "漢字", count: 100)))
        let queue = QueueReport(OutboxList(entries: [long], total: 1), filter: .all, source: .file, now: Samples.now)
        let first = queue.text(style).split(separator: "\n")[0]
        #expect(TextLayout.width(String(first)) <= width)
    }

    @Test func nothingIsCutWhereThereIsNoTerminal() {
        var long = Samples.entry(7)
        let title = String(repeating: "long ", count: 30)
        long.payload = .create(NewItem(url: "https://example.com/", title: title))
        long.errorMessage = "Server error: " + title
        long.errorCode = ErrorCode.serverError.rawValue
        let queue = QueueReport(OutboxList(entries: [long], total: 1), filter: .all, source: .file, now: Samples.now)
        let lines = queue.text(TextStyle()).split(separator: "\n")
        #expect(lines[0].contains(title.dropLast()))
        #expect(lines.dropFirst(2).joined().filter { $0 == "l" }.count >= 30)
    }

    // MARK: What the server makes people wait for

    private var wide: TextStyle {
        var style = style()
        style.width = 120
        return style
    }

    private func followUp(_ id: Int64) -> OutboxEntry {
        var entry = Samples.entry(id, .queued)
        entry.kind = .edit
        entry.payload = .edit(ItemEdit(title: "Title \(id)"))
        entry.follows = id - 1
        entry.errorCode = ErrorCode.serverError.rawValue
        entry.errorMessage = "Server error: Failed to update item"
        entry.nextAttemptAt = Samples.now.advanced(by: .seconds(5 * 3_600))
        return entry
    }

    @Test func titlesThatWaitForAServerThatFailsAtEveryEditAreOneLine() {
        let list = OutboxList(entries: [followUp(3), followUp(7), followUp(9)], total: 3)
        let text = QueueReport(list, filter: .open, source: .daemon, now: Samples.now).text(wide)
        #expect(
            text == "3 titles and tags wait: the server fails at every edit; next attempt in 5 h (#3, #7, #9)\n")
    }

    @Test func anEditSaysThatItWaitsUntilTheServerHasProcessedTheItem() {
        var entry = followUp(3)
        entry.awaitsItem = true
        entry.errorCode = nil
        let report = QueueReport(
            OutboxList(entries: [entry], total: 1), filter: .open, source: .daemon, now: Samples.now)
        #expect(report.text(wide).contains("waits until the server has processed the item"))
    }

    @Test func aCreationSaysUntilWhenTheServerAsksToWait() {
        var entry = Samples.entry(3, .queued)
        entry.nextAttemptAt = Samples.now
        let until = Samples.now.advanced(by: .seconds(42))
        let report = QueueReport(
            OutboxList(entries: [entry], total: 1), filter: .open, source: .daemon,
            wait: ServerWait(creationsUntil: until, othersUntil: nil), now: Samples.now)
        let text = report.text(wide)
        #expect(text.contains("the server asks to wait until \(Formatting.time(until))"))
        #expect(!text.contains("due now"))
    }

    // MARK: More writes than one request takes

    @Test func aCommandIsCutIntoRequestsThatTheDaemonTakes() {
        let deletions = (0..<2_500).map { WriteRequest(.delete(item: "item-\($0)")) }
        let counts = WritesRequest(deletions).batches().map(\.writes.count)
        #expect(counts == [1_000, 1_000, 500])
        #expect(TallyRequest(deletions).batches() == [TallyRequest(deletions)])
        let notes = (0..<20).map {
            WriteRequest(.create(NewItem(note: String(repeating: "\u{1}", count: 50_000) + "\($0)")))
        }
        let batches = WritesRequest(notes).batches()
        #expect(batches.count > 1 && batches.flatMap(\.writes) == notes)
        #expect(batches.allSatisfy { $0.line.count <= ControlServer.Limits().writeSize })
    }

    @Test(arguments: [
        (0, false, "Nothing was queued."), (0, true, "It is not known whether it is on disk."),
        (
            1_000, false,
            "The first 1,000 of 1,500 writes were queued, as far as they were not refused. The others were not."
        ),
        (1_000, true, "The first 1,000 of 1,500 writes are on disk. It is not known whether the others are."),
    ])
    func aCommandThatFailsHalfwaySaysWhatIsOnDisk(queued: Int, isUnknown: Bool, text: String) {
        let error = UserFacingError(.diskFull, "The disk is full.")
        let failure = Unwritten(error: error, isUnknown: isUnknown, queued: queued, total: 1_500)
        #expect(failure.userFacing.consequence?.description == text)
    }
}
