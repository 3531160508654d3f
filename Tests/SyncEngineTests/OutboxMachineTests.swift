import PRSNLCore
import Testing

@testable import PRSNLClient
@testable import Store
@testable import SyncEngine

/// The whole table of docs/outbox.md: what happened to an entry, and what follows from it.
@Suite struct OutboxMachineTests {
    struct Row: CustomTestStringConvertible, Sendable {
        var task: OutboxTask
        var event: OutboxMachine.Event
        /// The step, in words.
        var expected: String
        var testDescription: String {
            "\(task.entry.state) \(task.entry.kind): \(event)".prefix(160) + " -> \(expected)"
        }

        init(_ task: OutboxTask, _ event: OutboxMachine.Event, _ expected: String) {
            self.task = task
            self.event = event
            self.expected = expected
        }
    }

    // MARK: Sends

    static let sends: [Row] = [
        Row(sending(.capture), .accepted(created), "answered; delivered (delivered)"),
        Row(sending(.capture), .failed(offline), "queued +0 s, free (wait_for_network) offline"),
        Row(
            sending(.edit), .failed(failed(.connectFailed)),
            "failed; log; queued +0 s, free (wait_for_network) connect_failed"),
        Row(sending(.edit), .failed(cutOff), "failed; log; unknown +0 s (look) timed_out"),
        Row(sending(.note), .failed(status(500)), "failed; unknown +0 s (look) server_error"),
        Row(sending(.delete), .failed(status(500)), "failed; unknown +0 s (look) server_error"),
        Row(sending(.edit), .failed(status(502)), "failed; unknown +0 s (look) service_unavailable"),
        Row(sending(.capture), .failed(status(401)), "log; queued +0 s, free (refused) unauthorized"),
        Row(sending(.capture), .failed(status(403)), "log; queued +0 s, free (refused) forbidden"),
        Row(
            sending(.edit), .failed(error(.loginExpired)),
            "failed; log; queued +0 s, free (wait_for_login) login_expired"),
        Row(sending(.note), .failed(status(429)), "answered; queued +0 s, free (slow_down) rate_limited"),
        Row(sending(.capture), .failed(exists), "answered; locate"),
        Row(sending(.capture), .failed(status(422)), "answered; parked (park) invalid_input"),
        Row(sending(.capture), .failed(proxys422), "answered; locate"),
        Row(sending(.edit), .failed(status(422)), "answered; parked (park) invalid_input"),
        Row(sending(.edit), .failed(gone), "answered; prove"),
        Row(sending(.delete), .failed(gone), "answered; prove"),
        Row(sending(.note), .failed(gone), "failed; queued +4 s (retry) not_found"),
        Row(sending(.delete), .proven(gone), "delivered (delivered) was already gone"),
        Row(sending(.edit), .proven(gone), "parked (park) item_gone"),
        Row(sending(.edit), .unanswered(.prove(gone), busy), "queued +4 s (retry) server_error"),
        Row(sending(.edit), .failed(error(.networkError(.cancelled), arrived: false)), "queued +0 s, free (returned)"),
    ]

    static let locations: [Row] = [
        Row(sending(.capture), .located(.was(created), exists), "delivered (delivered) was already there"),
        Row(sending(.capture), .located(.ours(created), exists), "delivered (delivered) was already there"),
        Row(sending(.capture), .located(.nowhere, exists), "delivered (delivered) was already there"),
        Row(titled, .located(.nowhere, exists), "unknown +0 s (already_there) conflict"),
        Row(sending(.capture), .located(.ambiguous, exists), "unknown +0 s (already_there) conflict"),
        Row(sending(.capture), .located(.toBeDeleted(by: 7), exists), "queued +4 s (retry) conflict"),
        Row(sending(.capture), .located(.was(created), proxys422), "delivered (delivered) was already there"),
        Row(sending(.capture), .located(.ours(created), proxys422), "delivered (delivered) was already there"),
        Row(sending(.capture), .located(.nowhere, proxys422), "parked (park) invalid_input"),
        Row(
            sending(.capture), .unanswered(.locate(exists), busy),
            "unknown +4 s (already_there) conflict"),
    ]

    // MARK: Looks

    static let looks: [Row] = [
        Row(
            unknown(.note), .lookedUp(.delivered(created, remark: "found on the server")),
            "answered; delivered (delivered) found on the server"),
        Row(unknown(.note), .lookedUp(.queued(.notApplied())), "answered; queued +0 s (retry)"),
        Row(
            unknown(.note, after: "timed_out"), .lookedUp(.queued(.notApplied())),
            "answered; queued +0 s (retry) timed_out"),
        Row(
            unknown(.note, after: "server_error"), .lookedUp(.queued(.notApplied())),
            "answered; queued +4 s (retry) server_error"),
        Row(
            unknown(.edit, after: "server_error"), .lookedUp(.queued(.notApplied())),
            "answered; queued +66 s (retry) server_error"
        ),
        Row(
            unknown(.note), .lookedUp(.unknown(.notFoundYet(lookupAfter: .seconds(30), undecidedSince: since))),
            "answered; unknown +30 s (look) not found on the server yet; it may still be working on it"),
        Row(
            old(unknown(.note)), .lookedUp(.unknown(.notFoundYet(lookupAfter: .seconds(30), undecidedSince: since))),
            "answered; parked (park) outcome_undecidable"),
        Row(unknown(.note), .lookedUp(.parked(.undecidable)), "answered; parked (park) outcome_undecidable"),
        Row(unknown(.capture), .lookedUp(.parked(.thereUnderNoID)), "answered; parked (park) conflict"),
        Row(queued(.edit), .lookedUp(.delivered(created)), "answered; delivered (delivered)"),
        Row(queued(.edit), .lookedUp(.parked(.itemGone)), "answered; parked (park) item_gone"),
        Row(
            queued(.edit), .lookedUp(.parked(.conflict(theirs: ItemEdit(title: "Theirs")))),
            "answered; parked (park) edit_conflict"),
        Row(unknown(.note), .lookupFailed(busy), "unknown +4 s (look) server_error"),
        Row(unknown(.note), .lookupFailed(.cancelled), ""),
        Row(unknown(.note), .lookupFailed(.sessionEnded), "unproven"),
        Row(unknown(.note), .lookupFailed(SyncFailure(status(403))), "log"),
        Row(unknown(.note), .lookupFailed(SyncFailure(offline)), ""),
        Row(unknown(.note), .lookupFailed(SyncFailure(cutOff)), "failed; log; unknown +4 s (look) timed_out"),
        Row(queued(.edit), .lookupFailed(busy), "queued +4 s (look) server_error"),
        Row(manual(queued(.edit)), .lookupFailed(busy), "parked (look) server_error"),
        Row(old(queued(.edit)), .lookupFailed(busy), "parked (look) write_too_old"),
        Row(old(unknown(.edit)), .lookupFailed(busy), "parked (look) outcome_undecidable"),
    ]

    @Test(arguments: sends + locations + looks)
    func anEventLeadsTo(_ row: Row) {
        var machine = OutboxMachine()
        #expect(Self.words(&machine, row.event, of: row.task) == row.expected)
    }

    // MARK: What comes of several events

    @Test func whatFailsAgainAndAgainGoesLessAndLessOftenAndIsGivenUp() {
        var task = Self.sending(.edit)
        var waits: [String] = []
        for failure in 0...7 {
            task.failures = failure
            task.entry.attempts = failure + 1
            task.entry.acceptedAt = Self.moment.now.advanced(by: .seconds(-90_000))
            task.entry.state = .unknown
            task.entry.errorCode = "server_error"
            var machine = OutboxMachine()
            waits += [Self.words(&machine, .lookedUp(.queued(.notApplied())), of: task)]
        }
        #expect(waits.last == "answered; parked (park) server_error")
        #expect(
            waits.dropLast().map { $0.split(separator: " ")[2] } == [
                "+66", "+330", "+1980", "+7920", "+19800", "+31680", "+39600",
            ])
    }

    @Test func aDeletionIsNeverLeftAloneForLong() {
        for failures in 0...20 {
            var task = Self.sending(.delete)
            task.failures = failures
            task.entry.state = .unknown
            task.entry.errorCode = "server_error"
            var machine = OutboxMachine()
            let words = Self.words(&machine, .lookedUp(.queued(.notApplied())), of: task)
            #expect(failures == 0 || words.contains("+330 s") || words.contains("+600 s"), "\(words)")
        }
    }

    @Test func threeFailuresSlowDownTheirKindAndNoOther() {
        var machine = OutboxMachine()
        for _ in 1...3 {
            #expect(machine.gate.sendable(at: .seconds(100)) == [.capture, .note, .edit, .delete])
            _ = machine.handle(.failed(Self.status(500)), of: Self.sending(.edit), Self.moment)
        }
        #expect(machine.gate.sendable(at: .seconds(100)) == [.capture, .note, .delete])
        #expect(machine.gate.opensAt <= .seconds(100))
        _ = machine.handle(.accepted(Self.created), of: Self.sending(.edit), Self.moment)
        #expect(machine.gate.sendable(at: .seconds(100)) == [.capture, .note, .edit, .delete])
    }

    @Test func aRefusedEntryWaitsAndIsParkedOnceTheServerTakesAnother() {
        var machine = OutboxMachine()
        let (refused, other) = (Self.sending(.note, id: 1), Self.sending(.note, id: 2))
        _ = machine.handle(.failed(Self.status(403)), of: refused, Self.moment)
        #expect(machine.gate.leftAlone(at: .seconds(100)) == [1])
        #expect(machine.gate.opensAt > .seconds(100), "the others wait a moment, too")
        _ = machine.handle(.accepted(Self.created), of: other, Self.moment)
        #expect(machine.gate.leftAlone(at: .seconds(100)).isEmpty)
        #expect(
            Self.words(&machine, .failed(Self.status(403)), of: refused)
                == "parked (park) forbidden refused, while the server takes other writes")
    }

    @Test func a429ClosesCreationsOrEverything() {
        var machine = OutboxMachine()
        _ = machine.handle(.failed(Self.status(429)), of: Self.sending(.note), Self.moment)
        #expect(machine.gate.sendable(at: .seconds(100)) == [.edit, .delete])
        #expect(machine.gate.opensAt <= .seconds(100))
        _ = machine.handle(.failed(Self.status(429)), of: Self.sending(.edit), Self.moment)
        #expect(machine.gate.opensAt == .seconds(160), "at least as long as the server asks")
        machine.gate.forgetPauses()
        #expect(machine.gate.opensAt == .seconds(160), "also when a person asks")
    }

    @Test func aLoginThatIsReplacedAgainAndAgainPausesTheQueue() {
        var machine = OutboxMachine()
        let replaced = Self.error(.sessionEnded, arrived: false)
        for _ in 1...2 { _ = machine.handle(.failed(replaced), of: Self.sending(.note), Self.moment) }
        #expect(machine.gate.opensAt <= .seconds(100))
        _ = machine.handle(.failed(replaced), of: Self.sending(.note), Self.moment)
        #expect(machine.gate.opensAt >= .seconds(1_900))
    }

    /// Whatever happens, in whatever order: an entry never leaves for a state that its event does not prove.
    @Test func noOutcomeSaysMoreThanItsEvent() {
        for row in Self.sends + Self.locations + Self.looks {
            for earlier in Self.sends + Self.looks {
                var machine = OutboxMachine()
                _ = machine.handle(earlier.event, of: earlier.task, Self.moment)
                let words = Self.words(&machine, row.event, of: row.task)
                let isDelivered = words.contains("delivered")
                #expect(
                    isDelivered == row.expected.contains("delivered"),
                    "\(earlier.testDescription), then \(row.testDescription)")
                // What may have been applied is not queued before a poll.
                if row.expected.contains("unknown") {
                    #expect(words.contains("unknown"), "\(row.testDescription): \(words)")
                }
            }
        }
    }

    @Test func aWriteThatCannotBeDecidedIsSentAgainWhereThatIsWanted() {
        var machine = OutboxMachine()
        var moment = Self.moment
        moment.resendsUnknown = true
        #expect(
            Self.words(&machine, .lookedUp(.parked(.undecidable)), of: Self.unknown(.note), moment)
                == "answered; queued +0 s (retry)")
    }

    @Test func eightAttemptsAtAFailingServerTakeADay() {
        #expect(WriteBackoff.serverErrorSteps.count == 7)
        #expect(WriteBackoff.serverErrorSteps.reduce(.zero, +) >= .seconds(86_400))
    }
}

// MARK: Entries, events, words

extension OutboxMachineTests {
    static let moment = OutboxMachine.Moment(
        now: Timestamp(microseconds: 1_800_000_000_000_000), uptime: .seconds(100), draw: 1)
    static let created = WriteOutcome.Delivery(serverID: "new")
    static let since = UndecidedSince(server: ServerTime(moment.now), here: moment.now)
    static let titled: OutboxTask = {
        var task = sending(.capture)
        task.entry.payload = .create(NewItem(url: "https://example.org/a", title: "Mine"))
        return task
    }()

    static func queued(_ kind: OutboxEntry.Kind, id: Int64 = 12) -> OutboxTask {
        let payload: OutboxEntry.Payload =
            switch kind {
            case .capture: .create(NewItem(url: "https://example.org/a"))
            case .note: .create(NewItem(note: "Bread"))
            case .edit: .edit(ItemEdit(title: "New"))
            case .delete: .delete
            }
        return OutboxTask(
            entry: OutboxEntry(
                .init(entry: id, state: .queued, kind: kind, itemID: "a", acceptedAt: moment.now, attempts: 1),
                payload: payload, idempotencyKey: "k"),
            failures: 0, maybeApplied: false, failedLookups: 0)
    }

    static func sending(_ kind: OutboxEntry.Kind, id: Int64 = 12) -> OutboxTask {
        var task = queued(kind, id: id)
        task.entry.state = .sending
        return task
    }

    static func unknown(_ kind: OutboxEntry.Kind, after code: String? = nil) -> OutboxTask {
        var task = queued(kind)
        task.entry.state = .unknown
        task.entry.errorCode = code
        return task
    }

    static func old(_ task: OutboxTask) -> OutboxTask {
        var task = task
        task.entry.reachableAge = WriteBackoff.ageLimit
        return task
    }

    static func manual(_ task: OutboxTask) -> OutboxTask {
        var task = task
        task.manual = .retry
        return task
    }

    static func error(
        _ kind: APIError.Kind, status: Int? = nil, code: String? = nil, arrived: Bool = true, isPRSNL: Bool = true,
        detail: String? = nil
    ) -> APIError {
        APIError(
            kind: kind, endpoint: "POST /api/capture", status: status, serverCode: code, requestID: "r",
            mayHaveReachedServer: arrived, isPRSNLError: isPRSNL, detail: detail)
    }

    static func failed(_ cause: APIError.NetworkCause) -> APIError { error(.networkError(cause), arrived: false) }
    static let offline = failed(.offline)
    static let cutOff = error(.networkError(.timedOut))
    static let exists = error(
        .invalidInput(message: ""), status: 400, detail: "This URL already exists in your knowledge base. Item: 'A'")
    static let proxys422 = error(.invalidInput(message: ""), status: 422, isPRSNL: false)
    static let gone = error(.notFound(resource: "Item"), status: 404, code: "ITEM_NOT_FOUND")
    static let busy = SyncFailure(status(500))

    static func status(_ status: Int) -> APIError {
        let kind: APIError.Kind =
            switch status {
            case 401: .unauthorized
            case 403: .forbidden
            case 422: .invalidInput(message: "")
            case 429: .rateLimitExceeded(retryAfter: .seconds(60))
            case 502: .serviceUnavailable(reason: "", retryAfter: nil)
            default: .serverError(message: "")
            }
        return error(kind, status: status)
    }

    static func words(
        _ machine: inout OutboxMachine, _ event: OutboxMachine.Event, of task: OutboxTask,
        _ moment: OutboxMachine.Moment = moment
    ) -> String {
        machine.gate.notes = []
        let action = machine.handle(event, of: task, moment)
        let notes = machine.gate.notes.map { note in
            switch note {
            case .answered: "answered"
            case .failed: "failed"
            case .unproven: "unproven"
            case .log: "log"
            }
        }
        return (notes + [action.map(words)].compactMap(\.self)).joined(separator: "; ")
    }

    private static func words(_ action: OutboxMachine.Action) -> String {
        switch action {
        case .locate: "locate"
        case .prove: "prove"
        case .record(let outcome, let dueAt, let error): words(outcome, dueAt, error)
        }
    }

    /// As the entry has it then.
    private static func words(_ outcome: WriteOutcome, _ dueAt: Timestamp?, _ error: UserFacingError?) -> String {
        let record = WriteRecord(
            sending(.capture), outcome: outcome, dueAt: dueAt,
            attempt: OutboxAttempt(.send, startedAt: moment.now), error: error)
        let after = dueAt.map { " +\($0.duration(since: moment.now).components.seconds) s" } ?? ""
        let isFree = outcome.state == .queued && !outcome.isFailure
        return
            (["\(outcome.state)\(after)" + (isFree ? ", free" : ""), "(\(outcome.verdict))"]
            + [record.error?.code.rawValue, outcome.remark].compactMap(\.self))
            .joined(separator: " ")
    }
}
