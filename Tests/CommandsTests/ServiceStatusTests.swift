import PRSNLCore
import Store
import Testing

@testable import Commands
@testable import Requests

/// The line of `systemctl status`.
@Suite struct ServiceStatusTests {
    private static let now = Timestamp("2026-11-21T10:44:00Z")!
    private static let asOf = Timestamp("2026-11-21T10:42:30Z")!
    private static let earlier = Timestamp("2026-11-21T08:05:00Z")!
    private static let yesterday = Timestamp("2026-11-20T21:59:59Z")!

    /// An hour ahead of UTC, wherever the test runs.
    private static let zone: LocalZone = { _ in (3_600, "CET") }

    private func text(_ change: (inout EngineState, inout CopySummary) -> Void) -> String {
        var engine = EngineState()
        engine.connectivity = Connectivity(state: .online, since: Self.earlier)
        engine.newAsOf = Self.asOf
        var summary = CopySummary()
        (summary.copy.live, summary.copy.complete) = (12_431, true)
        change(&engine, &summary)
        return ServiceStatus.text(engine, summary, unit: ServiceUnit(), now: Self.now, zone: Self.zone)
    }

    private func pull(_ read: Int, of expected: Int?) -> Progress {
        var pull = Progress(kind: .backfill, startedAt: Self.earlier)
        pull.items = read
        pull.expectedItems = expected
        return pull
    }

    private func disconnected(_ state: Connectivity.State, _ code: ErrorCode) -> String {
        text { engine, _ in
            engine.connectivity = Connectivity(state: state, since: Self.earlier, reason: UserFacingError(code, "…"))
        }
    }

    @Test func itSaysWhatPeopleAskFirst() {
        #expect(text { $1.outbox.waiting = 3 } == "online, 12,431 items, complete as of 11:42, 3 queued")
        #expect(text { _, _ in } == "online, 12,431 items, complete as of 11:42")
        #expect(text { $1.copy.live = 1 } == "online, 1 item, complete as of 11:42")
        #expect(text { engine, _ in engine.newAsOf = nil } == "online, 12,431 items, complete")
    }

    @Test func aTimeOfAnotherDayHasItsDay() {
        #expect(
            text { engine, _ in engine.newAsOf = Self.yesterday }
                == "online, 12,431 items, complete as of 2026-11-20 22:59")
    }

    @Test func itSaysSinceWhenTheServerCannotBeUsedAndWhy() {
        let rest = ", 12,431 items, complete as of 11:42"
        #expect(disconnected(.offline, .offline) == "offline since 09:05" + rest)
        #expect(disconnected(.unreachable, .connectFailed) == "server not reachable since 09:05" + rest)
        #expect(disconnected(.portal, .portal) == "something other than PRSNL answers since 09:05" + rest)
        #expect(disconnected(.unauthorized, .needsLogin) == "needs login since 09:05" + rest)
        #expect(text { engine, _ in engine.connectivity = Connectivity() } == "server not asked yet" + rest)
    }

    @Test func whatIsMissingIsSaid() {
        #expect(text { $1.copy.complete = false } == "online, 12,431 items, incomplete")
        let pulling = text {
            $1.copy.complete = false
            $1.copy.live = 1_300
            $0.pull = pull(1_300, of: 12_431)
        }
        #expect(pulling == "online, pulling (1,300 of 12,431 read), 1,300 items, incomplete")
        #expect(
            text { engine, _ in engine.pull = pull(100, of: nil) }
                == "online, pulling (100 read), 12,431 items, complete as of 11:42")
    }

    @Test func whatWaitsForAPersonIsSaid() {
        let rest = "online, 12,431 items, complete as of 11:42, "
        #expect(text { $1.outbox.parked = 2 } == rest + "2 parked: see prsnlctl queue")
        let both = text {
            $1.outbox.waiting = 1_000
            $1.outbox.parked = 2
        }
        #expect(both == rest + "1,000 queued, 2 parked: see prsnlctl queue")
        let held = text {
            $1.copy.deletionsHeld = 40
            $0.problem = UserFacingError(.deletionsHeld, "…")
        }
        #expect(held == rest + "40 deletions held back")
        #expect(
            text { engine, _ in engine.problem = UserFacingError(.accountChanged, "…") } == rest
                + "problem: account changed")
    }

    @Test func aReasonIsNotSaidTwice() {
        let refused = text { engine, _ in
            engine.connectivity = Connectivity(
                state: .unauthorized, since: Self.earlier, reason: UserFacingError(.unauthorized, "…"))
            engine.problem = engine.connectivity.reason
        }
        #expect(refused == "needs login since 09:05, 12,431 items, complete as of 11:42")
    }
}
