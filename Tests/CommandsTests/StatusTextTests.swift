import CommandSamples
import Console
import PRSNLCore
import Testing

@testable import Commands
@testable import Requests
@testable import Store

@Suite struct StatusTextTests {
    @Test func aFreshFileSaysThatNothingIsKnown() throws {
        try expectScreen("aFreshFileSaysThatNothingIsKnown", Samples.report(Samples.fresh, nil).text(TextStyle()))
    }

    @Test func aCompleteCopyNamesBothTimes() throws {
        try expectScreen("aCompleteCopyNamesBothTimes", Samples.report(Samples.complete).text(TextStyle()))
    }

    /// The first line answers whether everything of a person's own is sent, and whether what others wrote is here.
    @Test func theFirstSentenceIsTrueInEachSituation() {
        func sentence(
            _ change: (inout CopySummary, inout EngineState) -> Void, isStopped: Bool = false
        ) -> String {
            var (summary, facts) = (Samples.complete, Samples.facts)
            summary.copy.editsAsOf = facts.newAsOf
            facts.connectivity = Connectivity(state: .online, since: Samples.now)
            change(&summary, &facts)
            let text = Samples.report(summary, isStopped ? nil : facts).text(TextStyle())
            return text.split(separator: "\n\n")[0].split(separator: "\n").joined(separator: " ")
        }
        #expect(sentence { _, _ in } == "Up to date; nothing waits.")
        #expect(
            sentence { summary, _ in summary.outbox.waiting = 2 } == "Up to date, but 2 writes wait to be sent.")
        let offline = sentence { summary, facts in
            summary.outbox.waiting = 1
            facts.connectivity = Connectivity(state: .offline, since: Samples.now)
        }
        #expect(
            offline == "There has been no network for 0 s (since 2026-11-21 04:06:14). 1 write waits for the network.")
        #expect(
            sentence { _, facts in facts.connectivity = Connectivity(state: .unauthorized, since: Samples.now) }
                == "The server has refused the login since 2026-11-21 04:06:14. Nothing waits to be sent.")
        for (code, said) in [
            (ErrorCode.needsLogin, "The daemon has no login that the server takes since"),
            (.accountChanged, "The login and this copy are of different accounts since"),
            (.loginExpired, "The login has expired since"), (.unauthorized, "The server has refused the login since"),
        ] {
            let text = sentence { _, facts in
                facts.connectivity = Connectivity(
                    state: .unauthorized, since: Samples.now, reason: UserFacingError(code, "No."))
            }
            #expect(text.hasPrefix(said), "\(text)")
        }
        #expect(
            sentence { summary, _ in summary.copy.deletionsHeld = 200 }
                == "200 deletions need your decision. Nothing waits to be sent.")
        #expect(
            sentence { summary, _ in summary.copy.texts = Samples.withTexts.copy.texts }
                == "15 texts are not here yet. Nothing waits to be sent.")
        #expect(
            sentence { summary, _ in summary.outbox.parked = 1 } == "Up to date, but 1 write needs your decision.")
        #expect(
            sentence({ _, _ in }, isStopped: true)
                == "The daemon is stopped; this copy is of 2026-11-21 04:04:00 UTC. Nothing waits to be sent.")
    }

    @Test func anIndexThatDoesNotFollowIsSaid() {
        var (summary, facts) = (Samples.complete, Samples.facts)
        summary.copy.editsAsOf = facts.newAsOf
        summary.copy.search = Samples.search
        facts.connectivity = Connectivity(state: .online, since: Samples.now)
        facts.searchProblem = UserFacingError(
            .databaseBusy, "Another program holds a lock on the database prsnl.sqlite.")
        let text = Samples.report(summary, facts).text(TextStyle())
        #expect(text.hasPrefix("Search does not find what is new. Nothing waits to be sent.\n"))
        #expect(
            text.contains(
                """
                Search       5 items to be indexed, which fails: Another program holds a lock on
                             the database prsnl.sqlite.
                             It is tried again with the next change, and every two minutes.

                """), "\(text)")
    }

    @Test func anItemIsShownWithItsText() {
        #expect(
            Samples.shownItem.text(TextStyle()) == """
                Sourdough for beginners
                https://example.org/bread
                article, by Ada Lovelace
                created 2026-11-20 23:00:00 UTC
                tags: bread, later
                id: 59ec0d4e-0000-4000-8000-000000000001

                Feed it.

                Wait a day, then feed it again, and so on until it has doubled in size twice in
                a row.\\u{1B}[2J

                """)
    }

    @Test func textsAreATimeOrAShareWithWhatIsWrong() {
        var facts = Samples.facts
        var progress = Progress(kind: .texts, startedAt: Samples.now)
        progress.items = 100
        progress.expectedItems = 1_000
        progress.rate = 5
        facts.pull = progress
        #expect(
            Samples.report(Samples.withTexts, facts).text(TextStyle()).contains(
                """
                Texts        1,234,550 of 1,234,565, newest first, about 3 min
                             12 larger than text_max_size or max_answer_size, not fetched
                             3 failing: Server error: broken

                """))
        var summary = Samples.withTexts
        summary.copy.texts?.missing = 12
        summary.copy.texts?.failing = 0
        summary.copy.texts?.failure = nil
        summary.copy.texts?.problem = nil
        let edits = summary.copy.editsAsOf
        summary.copy.texts?.asOf = edits
        #expect(
            Samples.report(summary).text(TextStyle()).contains(
                """
                Texts        as of 2026-11-20 23:00:00 (5 h ago)
                             12 larger than text_max_size or max_answer_size, not fetched

                """))
        facts.pull = nil
        facts.copiesTexts = false
        #expect(
            Samples.report(Samples.withTexts, facts).text(TextStyle()).contains(
                "Texts        1,234,550 of 1,234,565, newest first; texts = no\n"))
        // Where more are missing than are counted, nothing is said of those that are here.
        summary = Samples.withTexts
        summary.copy.texts?.missing = CopySummary.Texts.mostCounted
        summary.copy.texts?.present = nil
        #expect(
            Samples.report(summary, facts).text(TextStyle()).contains(
                "Texts        more than 5,000 missing; texts = no\n"))
    }

    @Test(arguments: [
        (StatusReport.Absence(state: .stopped), "stopped; showing data from the file\n"),
        (.init(state: .notResponding), "not responding; showing data from the file\n"),
        (.init(state: .refused), "does not answer this user; showing data from the file\n"),
        (
            .init(state: .failed, reason: "No server is configured.", nextCommand: "journalctl -u prsnld -e"),
            """
            failed; showing data from the file
                         No server is configured.
                         `journalctl -u prsnld -e`

            """
        ),
    ])
    func whyTheFileAnswersIsSaid(_ absence: StatusReport.Absence, _ words: String) {
        var report = Samples.report(Samples.complete, nil)
        report.noDaemon = absence
        #expect(report.text(TextStyle()).contains("Daemon       " + words))
    }

    /// In a timestamp collision, and where a row could not be read, the list does not tell what is gone.
    @Test func whereDeletionsAreNotSeenIsSaid() {
        var summary = Samples.complete
        summary.copy.possiblyMoreAt = Samples.withGaps.copy.possiblyMoreAt
        summary.copy["rejected"] = 2
        #expect(
            Samples.report(summary).text(TextStyle()).contains(
                """
                Edits        and deletions as of 2026-11-20 23:00:00 (5 h ago)
                             except for deletions at 1 timestamp collision and around items that
                             could not be read

                """))
    }

    @Test func aPullUnderWayShowsHowFarItIs() {
        var facts = Samples.facts
        facts.activity = .pulling
        facts.nextPullAt = nil
        facts.pull = Samples.pull
        let text = Samples.report(Samples.complete, facts).text(TextStyle())
        #expect(
            text.contains(
                """
                Pull         backfill: 12,300 of 50,000 items, 123 pages, 1,230 items/s, 30 s
                             left, at 2025-06-01 00:00:24 UTC

                """))
    }

    @Test func whatIsMissingIsNamed() {
        let text = Samples.report(Samples.withGaps).text(TextStyle())
        #expect(
            text.contains(
                """
                Copy         incomplete
                New items    as of 2026-11-21 04:06:00 (14 s ago)
                Edits        and deletions not known
                Items        1,234,567 live, 12 deleted
                Missing      items from 2026-01-01 00:00:00 to 2026-02-01 12:30:00
                             everything up to 2025-06-01 00:00:24
                             possibly more at 2025-08-01T00:00:00.000001Z
                             2 items that could not be read; see the table rejected_item
                Unsettled    1 item gone from the server's list, deletion not yet proven

                """))
    }

    /// An entry of the table is all that a new number of the file needs.
    @Test(arguments: CopyCount.all)
    func aNumberOfTheFileIsShownEverywhereByItsEntry(count: CopyCount) throws {
        var summary = Samples.complete
        summary.copy[count.name] = 7
        let report = Samples.report(summary)
        #expect(report.text(TextStyle()).contains("\(count.label) "))
        #expect(StatusFact.all.flatMap { $0.say(report) }.contains { $0.found == "7 \(count.noun)s \(count.text)" })
        let line = try JSONOutput.line(report)
        #expect(String(decoding: line, as: UTF8.self).contains("\"\(count.name)\":7"))
        let read = try JSONOutput.decode(StatusReport.self, from: line, isOwn: true)
        #expect(read.copy[count.name] == 7)
        let findings = CopyCheck(status: report).findings.filter { $0.level == .warning && $0.check == count.check }
        #expect(findings.count == (count.check == nil ? 0 : 1))
        #expect(Metrics.text(report).split(separator: "\n").contains { $0.hasPrefix("prsnld_") && $0.hasSuffix(" 7") })
    }

    /// A daemon of an earlier version does not say it.
    @Test func aNumberThatTheDaemonDoesNotKnowIsNull() throws {
        var report = Samples.report(Samples.complete)
        report.copy.counts["suspects"] = nil
        let line = try JSONOutput.line(report)
        #expect(String(decoding: line, as: UTF8.self).contains("\"suspects\":null"))
        #expect(try JSONOutput.decode(StatusReport.self, from: line, isOwn: true) == report)
    }

    @Test func ofManyGapsSomeAreListed() {
        var summary = Samples.withGaps
        summary.copy.gaps = (0..<20).map { index in
            let time = Samples.now.advanced(by: .seconds(-1_000 * index))
            return .init(from: time, to: time)
        }
        let text = Samples.report(summary).text(TextStyle())
        #expect(text.contains("and 15 more gaps\n"))
    }

    @Test func heldDeletionsNameTheCommandThatAcceptsThem() {
        let text = Samples.report(Samples.held).text(TextStyle())
        #expect(
            text.contains(
                """
                Copy         complete, but deletions are held back

                """))
        #expect(
            text.contains(
                """
                Unsettled    4,321 deletions held back: too many to accept at once
                             to accept them: `prsnlctl sync --accept-deletions`

                """))
    }

    /// A person who reads it may have deleted it on another device.
    @Test func whatIsGoneFromTheServerIsNamedWithBothWaysOut() {
        var summary = Samples.complete
        let newest = GoneItem(itemID: "24581b51", entry: 12, deliveredAt: Samples.time("2026-11-20T04:06:14Z"))
        summary.copy.gone = GoneItems(count: 1, newest: newest)
        let report = Samples.report(summary)
        #expect(
            report.attention.isEmpty
                && report.text(TextStyle()).contains(
                    """
                    Gone         #12 was delivered on 2026-11-20 04:06:14 (24 h ago); the server
                                 does not have its item any more, and it was not deleted from here
                                 to capture it again: `prsnlctl restore 24581b51`
                                 to leave it so: `prsnlctl errors --clear`

                    """),
            "\(report.text(TextStyle()))")
        summary.copy.gone?.count = 1_200
        #expect(
            Samples.report(summary).text(TextStyle()).contains(
                """
                Gone         1,200 items that were delivered from here are not on the server any
                             more, and they were not deleted from here
                             to capture them again: `prsnlctl restore --gone`

                """.dropLast()))
    }

    @Test func theLastErrorSaysWhatToDoWhileItLasts() {
        #expect(
            Samples.report(Samples.withError).text(TextStyle()).contains(
                """
                Last error   connect_failed at GET /api/timeline, 37 times
                             last 2026-11-21 04:05:44 (30 s ago)
                             Network error: could not connect to the server.
                             Check that the server runs and that its port can be reached from
                             here.

                """))
        var over = Samples.withError
        over.lastError?.isOver = true
        let text = Samples.report(over).text(TextStyle())
        #expect(text.contains("(30 s ago); it is over\n"))
        #expect(!text.contains("Check that the server runs"))
    }

    @Test func theProblemComesWithItsCure() {
        var facts = Samples.facts
        facts.problem = Samples.problem
        #expect(
            Samples.report(Samples.complete, facts).text(TextStyle()).contains(
                """
                Problem      Authentication required
                             Invalid or expired API key. Please check your settings.
                             The copy stays as it is.
                             Look with `prsnlctl whoami` what the server is shown: log in again,
                             or put a valid key there, then `systemctl restart prsnld`.
                             `prsnld --check-config`

                """))
    }

    @Test func writesThatWaitAndWhetherTheServerCanBeReachedAreShown() {
        let text = Samples.full.text(TextStyle())
        #expect(
            text.contains(
                """
                Writes       3 waiting, the oldest since 2026-11-21 01:06:14 (3 h ago)
                             1 of them may be on the server already; the daemon looks
                             1 fails or is refused; #12: Server error: it cannot.
                             `prsnlctl queue show 12`
                             2 parked, waiting for your decision:
                             `prsnlctl queue --state parked`

                """))
        #expect(
            text.contains(
                """
                Connection   unreachable since 2026-11-21 01:06:14 (3 h ago)
                             Network error: connection refused.

                """))
    }

    @Test func onlyWhatNeedsAPersonAsksForAttention() {
        #expect(Samples.report(Samples.complete).attention == [])
        #expect(Samples.report(Samples.complete).exitCode == .fine)
        #expect(Samples.report(Samples.withError).exitCode == .fine)
        #expect(Samples.report(Samples.withGaps).attention == [.copyIncomplete])
        #expect(Samples.report(Samples.held).attention == [.deletionsHeld])
        #expect(Samples.full.attention == [.copyIncomplete, .writesParked, .writesFailing, .problem])
        var parked = Samples.complete
        parked.outbox.parked = 1
        #expect(Samples.report(parked).exitCode == .needsAttention)
        #expect(Samples.full.exitCode == .needsAttention)
        var facts = Samples.facts
        facts.problem = UserFacingError(.connectFailed, "down")
        #expect(Samples.report(Samples.complete, facts).exitCode == .fine)
    }

    @Test(arguments: [40, 60, 80])
    func noLineIsWiderThanTheTerminal(width: Int) {
        var style = TextStyle()
        style.width = width
        var summary = Samples.withGaps
        summary.lastError = Samples.withError.lastError
        summary.file.path = "/p.sqlite"
        var facts = Samples.facts
        facts.problem = Samples.problem
        facts.pull = Samples.pull
        let text = Samples.report(summary, facts).text(style)
        for line in text.split(separator: "\n") where !line.contains("00000000") && !line.contains("https://") {
            #expect(line.count <= width, "\(line)")
        }
        for line in Samples.history.text(style).split(separator: "\n") { #expect(line.count <= 80) }
        #expect(Samples.pull.bar(style).count < width)
    }

    @Test func colourIsPaintedAroundWordsOnly() {
        var style = TextStyle()
        style.hasColour = true
        let text = Samples.report(Samples.complete).text(style)
        #expect(text.contains("\u{1B}[1mCopy\u{1B}[0m         \u{1B}[32mcomplete\u{1B}[0m\n"))
        var plain = text
        for code in ["\u{1B}[1m", "\u{1B}[32m", "\u{1B}[33m", "\u{1B}[0m"] {
            plain = plain.split(separator: code).joined()
        }
        #expect(plain == Samples.report(Samples.complete).text(TextStyle()))
    }

    @Test func textOfTheServerCannotSteerTheTerminal() {
        var report = Samples.full
        report.server.accountName = "evil\u{1B}[2J\u{9B}1m\u{202E}gnp.exe\nroot"
        report.lastError?.message = "\u{7}\u{2066}x"
        let text = report.text(TextStyle())
        #expect(text.contains("evil\\u{1B}[2J\\u{9B}1m\\u{202E}gnp.exe root"))
        #expect(text.contains("\\u{7}\\u{2066}x"))
        #expect(!text.unicodeScalars.contains { $0.value == 0x1B || $0.value == 0x9B || $0.value == 0x202E })
    }

    @Test func theHistoryIsATable() throws {
        try expectScreen("theHistoryIsATable", Samples.history.text(TextStyle()))
    }

    @Test func theBarGrowsWithTheItems() {
        #expect(
            Samples.pull.bar(TextStyle())
                == "backfill  [████░░░░░░░░░░░░░]  12,300 of 50,000 items  1,230 items/s  30 s left")
        var unknown = Samples.pull
        unknown.expectedItems = nil
        #expect(unknown.bar(TextStyle()) == "backfill  12,300 items  1,230 items/s")
        var more = Samples.pull
        more.items = 60_000
        #expect(more.bar(TextStyle()).contains("█]"))
    }

    @Test func theResultOfASyncIsOneSentenceAndTheCure() {
        #expect(
            SyncResult(isComplete: true, added: 1_500, changed: 3, deleted: 0, problem: nil).text(TextStyle())
                == "Complete: 1,500 added, 3 changed, 0 deleted.\n")
        let failed = Samples.failedSync
        #expect(failed.exitCode == .error)
        #expect(
            failed.text(TextStyle()).hasPrefix(
                "The pull failed: 1,500 added, 0 changed, 2 deleted.\nInvalid or expired"))
        let held = SyncResult(
            isComplete: false, added: 0, changed: 0, deleted: 0, problem: UserFacingError(.deletionsHeld, "Held."))
        #expect(held.exitCode == .needsAttention)
        #expect(SyncResult(followed: nil).exitCode == .fine)
        let second = SyncResult(followed: true).text(TextStyle())
        #expect(second.hasPrefix("A pull is under way. Another one follows. Follow it with"), "\(second)")
    }
}
