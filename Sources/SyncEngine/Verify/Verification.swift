import PRSNLClient
import PRSNLCore
import Store

/// Reads the server's list beside the pulls, as gently as a sweep, and compares it with the file. It writes nothing.
///
/// What differs is an open question at first. It is a difference where the next reading of just these items finds the same once
/// more. Where it may have come after the copy's own reading, the copy has a poll in between.
struct Verification {
    let store: Store
    let identity: Identity
    let time: TimeSource
    /// A poll of the daemon's own.
    let poll: () async -> Void
    /// Called with each page and each text.
    let onProgress: (Progress) -> Void
    private var meter: ProgressMeter

    private let dialect: Dialect
    private let comparison: TimelineComparison
    private let requests = RequestCounter()
    private var report: VerifyReport
    private var open: [ByteText: RowDifference] = [:]
    /// Where open questions are read again, these; no other is one then.
    private var asked: [ByteText: RowDifference]?
    /// More differ than are read again.
    private var hasMore = false
    /// Full of one instant each, so that the server does not show all of it.
    private var collisions: Set<Timestamp> = []

    /// After so many pages the server is asked whose they were.
    private static let pagesPerProof = 25
    /// What is open is read again so often.
    private static let rounds = 3
    /// That there are more is said: memory grows neither with a copy's differences nor with a server's list.
    private static let mostOpen = 10_000
    /// How much later than the copy's reading a change has to be, to be one after it. Clocks differ by what is known of them.
    private static let slack: Duration = .seconds(2)
    private static let firstYear = Timestamp.earliest.advanced(by: .seconds(366 * 86_400))

    /// - Throws: `daemon_busy` before the first pull has ended.
    init(
        store: Store, identity: Identity, time: TimeSource, poll: @escaping () async -> Void,
        onProgress: @escaping (Progress) -> Void
    ) async throws(SyncFailure) {
        (self.store, self.identity, self.time) = (store, identity, time)
        (self.poll, self.onProgress) = (poll, onProgress)
        meter = ProgressMeter(.verify, of: try await SyncFailure.from(try await store.liveCount()), time: time)
        let binding = store.binding
        guard let dialect = binding.dialect, await store.coverage.isComplete else {
            throw SyncFailure(
                UserFacingError(
                    .daemonBusy, "The copy is not complete yet, so that there is nothing to compare.",
                    consequence: "The server was not asked.",
                    recoverySuggestion: "Wait for the pull: `prsnlctl sync --wait`."), verdict: .tryRarely)
        }
        self.dialect = dialect
        do throws(UserFacingError) {
            comparison = try TimelineComparison(path: store.path)
        } catch {
            throw SyncFailure(error)
        }
        report = VerifyReport(
            server: identity.serverURL, account: binding.accountName ?? binding.accountID, from: time.now(),
            to: time.now())
    }

    mutating func run(_ texts: VerifiedTexts) async throws(SyncFailure) -> VerifyReport {
        do {
            if dialect == .cursor { try await readByCursor() } else { try await readByPages() }
            report.items = comparison.count + open.count { $0.value.kind == .onlyThere }
            try comparison.onlyHere { if !collisions.contains($0.createdAt) { keep($0) } }
            if hasMore { skip(nil, "more items differ than are read twice (\(Count.text(Self.mostOpen, "item")))") }
            try await settle()
            if texts != .none, dialect != .express { try await compareTexts(texts) }
            report.to = time.now()
            report.differences.sort { $0.isBefore($1) }
            report.requests = requests.count
            (report.digest, report.epoch) = try StoreReader(path: store.path).stamp(at: report.to)
            return report
        } catch {
            throw SyncFailure(error)
        }
    }

    // MARK: The list

    private func fetch(
        _ position: TimelineRequest.Position, limit: Int, _ session: ClientSession
    ) async throws -> TimelinePage {
        let start = time.uptime()
        requests.add()
        let page = try await session.timeline(TimelineRequest(position, limit: limit))
        try identity.check(page, is: dialect)
        try await pause(after: time.uptime() - start)
        return page
    }

    /// As a sweep: the server is left four fifths of its time.
    private func pause(after took: Duration) async throws {
        try await time.sleep(min(max(took * 4, .milliseconds(5)), .seconds(10)))
    }

    private mutating func compare(_ page: TimelinePage) throws {
        for difference in try comparison.compare(page.items) { keep(difference) }
        try comparison.noteShown(page.rejected.compactMap(\.id))
        for element in page.rejected {
            if let id = element.id { open[ByteText(id)] = nil }
            skip(element.id, "what the server shows of it cannot be read: \(element.reason)")
        }
        meter.reach(comparison.count)
        onProgress(meter.progress)
    }

    private mutating func keep(_ difference: RowDifference) {
        let id = ByteText(difference.id)
        if let asked, asked[id] == nil { return }
        if open.count < Self.mostOpen || open[id] != nil { open[id] = difference } else { hasMore = true }
    }

    private mutating func skip(_ id: String?, _ reason: String) {
        report.add(.skipped, id, reason: reason)
    }

    /// The pages that were read since the last proof are read once more where the session ends before the next.
    private mutating func readByCursor() async throws {
        var plan = CursorPlan(top: nil, bottom: .earliest, readAt: report.from, limit: CursorPlan.largestPage)
        var session = try await identity.session()
        var step = CursorPlan.Step.request(plan.request)
        var bound = PageBound(store: store)
        var proven = (self, plan, step)
        var pages = 0
        while step != .finished {
            do throws(SyncFailure) {
                try await bound.add(plan.request.limit)
                step = try await SyncFailure.from(try await readOn(&plan, step, session))
                pages += 1
                guard step == .finished || pages % Self.pagesPerProof == 0 else { continue }
                try await identity.prove(session, counting: requests)
                session = try await identity.session()
                proven = (self, plan, step)
            } catch {
                guard error.origin == .session else { throw error }
                session = try await identity.session()
                (self, plan, step) = proven
            }
        }
    }

    private mutating func readOn(
        _ plan: inout CursorPlan, _ step: CursorPlan.Step, _ session: ClientSession
    ) async throws -> CursorPlan.Step {
        if case .collision(let instant) = step {
            collisions.insert(instant)
            skip(nil, "the server does not show all items of the instant \(instant)")
            return plan.stepOver(instant)
        }
        while true {
            do {
                let page = try await fetch(.before(plan.request.before), limit: plan.request.limit, session)
                let next = try plan.take(page).next
                try compare(page)
                return next
            } catch let error as APIError {
                guard case .networkError(.answerTooLarge) = error.kind, let next = plan.reduce() else { throw error }
                if case .collision = next { return next }
            }
        }
    }

    /// Pages that shift while they are read leave questions, and no wrong answers.
    private mutating func readByPages() async throws {
        let session = try await identity.session()
        var largest = dialect == .express ? 1_000 : 100
        var (end, total) = (0, 1)
        var bound = PageBound(store: store)
        while end < total {
            try await bound.add(largest)
            let number = end == 0 ? .init(number: 1, limit: largest) : OverlappingPages.following(end, largest: largest)
            do {
                let page = try await fetch(.page(number.number), limit: number.limit, session)
                // Where the server does not count them, the first page that brings no more is the last.
                total = page.total ?? .max
                try compare(page)
                guard number.start + page.count > end else { return }
                end = number.start + page.count
            } catch let error as APIError {
                guard case .networkError(.answerTooLarge) = error.kind, largest > 20 else { throw error }
                largest = max(20, largest / 2)
            }
        }
    }

    // MARK: Open questions

    /// What the same two states say twice in a row is a difference. What changes each time is in motion.
    private mutating func settle() async throws {
        for round in 0..<Self.rounds where !open.isEmpty {
            if round > 0 { await poll() }
            let before = open
            let session = try await identity.session()
            // Before the rows are read: what the copy reads meanwhile makes them newer than this says, and never older.
            let coverage = await store.coverage
            open = [:]
            if dialect == .cursor {
                try await readAgain(before, session)
            } else {
                let counted = report
                asked = before
                try await readByPages()
                try comparison.onlyHere { keep($0) }
                (report, asked) = (counted, nil)
            }
            for (id, difference) in before where open[id] == nil {
                add(.inMotion, difference, "it differed when it was read first, and is equal since")
            }
            for (id, difference) in open.sorted(by: { $0.key < $1.key }) where before[id] == difference {
                if try await conclude(difference, coverage, hasPolled: round > 0, session) { open[id] = nil }
            }
            try await identity.prove(session, counting: requests)
        }
        for difference in open.values { add(.inMotion, difference, "it changed each time that it was read") }
    }

    /// Of dialect C: the pages on which the items are, or were.
    private mutating func readAgain(_ asked: [ByteText: RowDifference], _ session: ClientSession) async throws {
        var left = asked
        // An invalid time in the file maps to year 0, which no server has or takes as a cursor.
        for (id, difference) in asked where difference.createdAt < Self.firstYear {
            left[id] = nil
            if try comparison.hasItem(difference.id) { open[id] = difference }
        }
        var limit = CursorPlan.largestPage
        while let top = left.values.map(\.createdAt).max() {
            let request = CursorPlan.Request.from(top, limit: limit)
            let page: TimelinePage
            do {
                page = try await fetch(.before(request.before), limit: limit, session)
            } catch let error as APIError {
                guard case .networkError(.answerTooLarge) = error.kind, limit > 1 else { throw error }
                limit /= 2
                continue
            }
            try page.requireConsistency(TimelineRequest(.before(request.before), limit: limit))
            // The rest of the last instant may be on the next page.
            let last = page.nextCursor.map { page.items.last?.createdAt ?? $0 }
            for item in page.items where left[ByteText(item.id)] != nil {
                for difference in try comparison.compare([item]) { open[ByteText(item.id)] = difference }
                left[ByteText(item.id)] = nil
            }
            for (id, difference) in left where last.map({ difference.createdAt > $0 || $0 == top }) ?? true {
                left[id] = nil
                if last == top {
                    skip(difference.id, "the server does not show all items of the instant \(top)")
                } else if try comparison.hasItem(difference.id) {
                    var missing = difference
                    (missing.kind, missing.updatedAt) = (.onlyHere, nil)
                    open[id] = missing
                }
            }
        }
    }

    private mutating func add(
        _ sign: VerifyReport.Difference.Sign, _ difference: RowDifference, _ reason: String? = nil,
        readAt: Timestamp? = nil
    ) {
        var fields: [String] = []
        if case .differs(let names) = difference.kind { fields = names }
        report.add(
            sign, difference.id, title: difference.title, fields: fields, reason: reason, readAt: readAt)
    }

    /// - Parameter coverage: as it was before the rows were compared.
    /// - Returns: False where it may be younger than what the copy has read, so that it has a poll first.
    private mutating func conclude(
        _ difference: RowDifference, _ coverage: Coverage, hasPolled: Bool, _ session: ClientSession
    ) async throws -> Bool {
        let readAt = coverage.readAt(difference.createdAt)
        // A time that the server's clock does not show yet says nothing of when the item was changed.
        let now = onServersClock(time.now()).advanced(by: Self.slack)
        let changed = [difference.updatedAt, difference.createdAt].compactMap(\.self).first { $0 <= now }
        // What lies above all that the copy has read is new.
        let read = readAt.map { onServersClock($0).advanced(by: .zero - Self.slack) } ?? .earliest
        let isLater = changed.map { $0 > read } ?? false
        switch difference.kind {
        case .differs where difference.isOfOneVersion:
            add(.differs, difference, readAt: readAt)
        case .onlyThere, .differs:
            guard hasPolled else { return false }
            if isLater {
                add(.inMotion, difference, "it was changed there after the copy had read it", readAt: readAt)
            } else {
                add(difference.kind == .onlyThere ? .onlyThere : .differs, difference, readAt: readAt)
            }
        case .onlyHere:
            guard hasPolled else { return false }
            requests.add()
            do {
                if try await session.itemExists(difference.id) {
                    add(
                        .inMotion, difference,
                        "the server does not list it, and still answers for it: it is hidden there, or a cache has it",
                        readAt: readAt)
                } else {
                    add(.onlyHere, difference, readAt: readAt)
                }
            } catch {
                let failure = SyncFailure(error)
                guard failure.isOfOneItem else { throw failure }
                skip(difference.id, "the server cannot be asked for it: \(failure.error.message)")
            }
        }
        return true
    }

    private func onServersClock(_ time: Timestamp) -> Timestamp {
        time.advanced(by: identity.client.serverClockOffset ?? .zero)
    }

    // MARK: Texts

    /// Of the largest answer, in bytes.
    private static let largestText = 16 << 20
    private static let idsAtOnce = 200

    private mutating func compareTexts(_ part: VerifiedTexts) async throws {
        var after = ""
        meter = ProgressMeter(.texts, of: comparison.count / part.count, time: time)
        while true {
            let (ids, last) = try comparison.ids(
                after: after, part: part.number - 1, of: part.count, limit: Self.idsAtOnce)
            guard let last else { return }
            after = last
            let doubtful = try await differing(ids)
            guard !doubtful.isEmpty else { continue }
            await poll()
            let counted = report.texts
            for id in try await differing(doubtful) { report.add(.differs, id, fields: ["text"]) }
            report.texts = counted
        }
    }

    private mutating func differing(_ ids: [String]) async throws -> [String] {
        guard !ids.isEmpty else { return [] }
        let session = try await identity.session()
        var found: [String] = []
        for id in ids where try await state(ofTextOf: id, session) == .differs { found.append(id) }
        try await identity.prove(session, counting: requests)
        return found
    }

    private mutating func state(
        ofTextOf id: String, _ session: ClientSession
    ) async throws -> TimelineComparison.TextState {
        let start = time.uptime()
        requests.add()
        meter.add(1)
        onProgress(meter.progress)
        do {
            guard let text = try await session.text(of: id, limit: Self.largestText) else {
                report.add(.inMotion, id, fields: ["text"], reason: "the server does not have it by its id")
                return .same
            }
            let state = try comparison.state(of: text)
            switch state {
            case .same, .differs: report.texts += 1
            case .inMotion(let reason):
                report.add(.inMotion, id, fields: ["text"], reason: reason)
            }
            try await pause(after: time.uptime() - start)
            return state
        } catch {
            let failure = SyncFailure(error)
            guard failure.isOfOneItem else { throw failure }
            skip(id, "its text cannot be asked for: \(failure.error.message)")
            return .same
        }
    }
}
