import PRSNLClient
import PRSNLCore
import Store

/// The pulls, one at a time: head and gaps, sweep, check. Each writes its own row in the history.
struct Puller: Sendable {
    let store: Store
    let identity: Identity
    let shared: EngineSharedState
    let time: TimeSource
    let log: LogHandler
    /// How many items a page of P and E may have; below the smallest, pages cannot be made to overlap any more.
    private let passSize = PageSize(largest: 1_000, smallest: 20, patience: 1)
    /// And one of C.
    private let cursorSize = PageSize(largest: CursorPlan.largestPage, smallest: 1, patience: 16)

    /// The head is read down to this long before the last poll: items that were hidden then, or arrived late.
    static let overlap: Duration = .seconds(15 * 60)
    /// Items that the server works on for longer than this are left to the sweep.
    private static let pendingLimit: Duration = .seconds(86_400)
    /// And so are those that were pending still when they were read at this age: they are stuck.
    private static let stuckAge: Duration = .seconds(3_600)
    /// One that was pending for an hour has hardly changed a minute later: so many times the time since was it pending at the most.
    private static let patience = 4
    /// At one poll, while each of them brings a change.
    private static let mostPendingPages = 100

    /// What changed, over all pulls of one piece of work.
    struct Changes: Sendable, Equatable {
        var added = 0
        var changed = 0
        var deleted = 0
        var suspects = 0
        /// Texts that were fetched.
        var texts = 0
        var isEmpty: Bool { self == Changes() }

        static func += (left: inout Changes, right: Changes) {
            left.added += right.added
            left.changed += right.changed
            left.deleted += right.deleted
            left.suspects += right.suspects
            left.texts += right.texts
        }

        init() {}

        init(_ record: PullRecord) {
            suspects = record.suspects
            if record.kind == .texts {
                texts = record.added
            } else {
                added = record.added
                changed = record.changed
                deleted = record.deleted
            }
        }
    }

    // MARK: Dialect C

    /// The newest items, down to what is known.
    ///
    /// - Parameters:
    ///   - newAsOf: When the head was last read, as far as memory and the file's T1 know.
    ///   - ahead: How far the server's clock was ahead of ours then.
    func head(
        pageSize: Int, newAsOf: Timestamp?, serverAhead ahead: Duration?
    ) async throws(SyncFailure) -> Changes {
        let start = time.now()
        let coverage = await store.coverage
        let isFirst = coverage.intervals.isEmpty
        let newest = coverage.newest ?? .earliest
        return try await record(isFirst ? .backfill : .head) { committer throws(SyncFailure) in
            // The first answer tells the server's clock.
            let lowest = try await cursorPull(committer).run(
                top: nil, bottom: isFirst ? .earliest : newest.next,
                floor: { headBottom(coverage, newAsOf: newAsOf, ahead: ahead) }, readAt: start, pageSize: pageSize
            ).lowest
            if isFirst { return }
            try await pending(below: lowest, coverage, ahead) { place throws(SyncFailure) in
                let before = committer.record.changed
                _ = try await cursorPull(committer).run(
                    top: place, bottom: place, readAt: start, pageSize: pageSize)
                return committer.record.changed > before
            }
        }.0
    }

    /// Looks at a page with items that the server worked on when they were read, further down than the head. Where they have changed,
    /// so may others. One that shows no change is enough for this time, and the next poll draws another.
    private func pending(
        below top: Timestamp, _ coverage: Coverage, _ ahead: Duration?,
        _ read: (_ place: Timestamp) async throws(SyncFailure) -> Bool
    ) async throws(SyncFailure) {
        guard let now = identity.client.serverTime else { return }
        var from = Self.pendingFrom(coverage, now: now, readAt: { serverTime(of: $0, ahead) })
        if let read = coverage.intervals.last.flatMap({ serverTime(of: $0.readAt, ahead) }) {
            // One that was pending for long is looked at now and then, not at a restart a moment later.
            let since = now.duration(since: read)
            let draw = since < .seconds(60) ? 1 : 16 / Int(1 + now.written.microseconds.magnitude / 7 % 16)
            from = max(from, read.advanced(by: since * -Self.patience * draw))
        }
        for _ in 0..<Self.mostPendingPages {
            let places = try await SyncFailure.from(try await store.pending(from: from, before: ServerTime(top)))
            guard !places.isEmpty else { return }
            // The microseconds are as good as a draw.
            let place = places[Int(now.written.microseconds.magnitude % UInt64(places.count))]
            guard try await read(place.written) else { return }
        }
    }

    /// From when on an item that is `pending` is looked at again.
    ///
    /// - Parameter readAt: what the server's clock said at a time here, if that is known.
    static func pendingFrom(
        _ coverage: Coverage, now: ServerTime, readAt: (Timestamp) -> ServerTime?
    ) -> ServerTime {
        let read = coverage.intervals.last.flatMap { readAt($0.readAt) } ?? .earliest
        return max(now.advanced(by: .zero - pendingLimit), read.advanced(by: .zero - stuckAge))
    }

    /// Each gap below the newest items, newest first. Where there is something below it, as far down as the head would have
    /// been read that left the gap.
    ///
    /// - Parameters:
    ///   - newAsOf: The last time at which there was no gap.
    ///   - ahead: How far the server's clock was ahead of ours then.
    func fillGaps(
        pageSize: Int, newAsOf: Timestamp?, serverAhead ahead: Duration?
    ) async throws(SyncFailure) -> Changes {
        var changes = Changes()
        let start = time.now()
        var known: ClosedRange<Timestamp>?
        while let gap = try await nextGap(after: &known, sweeping: false) {
            let coverage = await store.coverage
            var bottom = gap.lowerBound
            if let readBelow = coverage.readAt(below: gap) {
                let lastRead = serverTime(of: max(readBelow, newAsOf ?? .earliest), ahead) ?? ServerTime(bottom)
                bottom = min(bottom, lastRead.advanced(by: .zero - Self.overlap).written)
            }
            changes += try await record(.backfill) { committer throws(SyncFailure) in
                _ = try await cursorPull(committer).run(
                    top: gap.upperBound, bottom: bottom, readAt: start, pageSize: pageSize)
            }.0
        }
        return changes
    }

    /// The newest gap there is. One that reading did not close would be read again and again, and is an error instead.
    private func nextGap(
        after known: inout ClosedRange<Timestamp>?, sweeping: Bool
    ) async throws(SyncFailure) -> ClosedRange<Timestamp>? {
        let gap = await store.coverage.gaps(sweeping: sweeping).first
        if let gap, gap == known {
            throw SyncFailure(
                .storeBug, "The gap below \(gap.upperBound) does not close.", verdict: .retry(after: nil))
        }
        known = gap
        return gap
    }

    /// By the time of the last poll and not by the newest item's, so that a burst of items an hour ago is not read again
    /// and again. The file says when the newest interval was read, so that a pull that was killed halfway does not begin
    /// again; where a clock was set back, or is not known, the newest item's time has to do. Whatever the clocks say, a
    /// gap that is left above the bottom is a gap in the coverage, and is filled.
    private func headBottom(_ coverage: Coverage, newAsOf: Timestamp?, ahead: Duration?) -> Timestamp {
        let newest = coverage.newest ?? .earliest
        let known = max(coverage.intervals.last?.readAt ?? .earliest, newAsOf ?? .earliest)
        let lastHead = (known > .earliest ? serverTime(of: known, ahead) : nil) ?? ServerTime(newest)
        let now = identity.client.serverTime
        return min(ServerTime(newest.next), min(lastHead, now ?? lastHead).advanced(by: .zero - Self.overlap)).written
    }

    /// What the server's clock said, or would say now, when ours said that: the earlier of both, because either clock may have been
    /// set since. `nil` where the server's clock was never known.
    ///
    /// - Parameter ahead: how far the server's clock was ahead of ours then.
    private func serverTime(of here: Timestamp, _ ahead: Duration?) -> ServerTime? {
        let ahead = [ahead, identity.client.serverTime?.ahead(of: time.now())].compactMap(\.self).min()
        return ahead.map { ServerTime(at: here, ahead: $0) }
    }

    /// The whole line again, or what a sweep that was interrupted has left.
    ///
    /// - Parameter fromStart: Begins a new sweep, even where one is half done.
    /// - Returns: What it has changed so far. Where it gave way, it goes on with the next call.
    func sweepCursor(
        pageSize: Int, pacing: Pacing?, fromStart: Bool
    ) async throws(SyncFailure) -> (changes: Changes, end: CursorPull.End) {
        if fromStart { await store.abandonSweep() }
        if await store.coverage.sweepStart == nil { await store.beginSweep(at: time.now()) }
        let readAt = await store.coverage.sweepStart ?? time.now()
        let live = try await SyncFailure.from(try await store.liveCount())
        let left = try await SyncFailure.from(try await store.liveCount(in: store.coverage.gaps(sweeping: true)))
        let meter = PullMeter(ProgressMeter(.sweep, of: live, after: live - left, time: time), shared)
        let (changes, end) = try await record(.sweep) { committer throws(SyncFailure) in
            var end = CursorPull.End.reachedBottom
            var known: ClosedRange<Timestamp>?
            while end == .reachedBottom, let gap = try await nextGap(after: &known, sweeping: true) {
                let newest = await store.coverage.newest ?? .earliest
                end = try await cursorPull(committer, meter).run(
                    top: gap.upperBound == newest ? nil : gap.upperBound, bottom: gap.lowerBound, readAt: readAt,
                    pageSize: pageSize, pacing: pacing
                ).end
            }
            if end == .gaveWay { committer.record.outcome = .incomplete }
            return end
        }
        if end == .gaveWay {
            try await SyncFailure.from(try await store.saveCoverage())
            return (changes, end)
        }
        try await SyncFailure.from(try await store.forgetUnversionedTexts())
        try await SyncFailure.from(try await store.finishSweep(at: time.now()))
        return (changes, end)
    }

    /// The newest items again, as many as the pacing lets.
    func recent(pageSize: Int, pacing: Pacing) async throws(SyncFailure) -> Changes {
        try await reread(top: nil, bottom: .earliest, pageSize: pageSize, pacing: pacing)
    }

    /// A part of the timeline, as it is now.
    private func reread(
        top: Timestamp?, bottom: Timestamp, pageSize: Int, pacing: Pacing? = nil
    ) async throws(SyncFailure) -> Changes {
        try await record(.head) { committer throws(SyncFailure) in
            _ = try await cursorPull(committer).run(
                top: top, bottom: bottom, readAt: time.now(), pageSize: pageSize, pacing: pacing)
        }.0
    }

    private func cursorPull(_ committer: PageCommitter, _ meter: PullMeter? = nil) -> CursorPull {
        let meter = meter ?? self.meter(committer.record.kind)
        return CursorPull(
            store: store, identity: identity, time: time, committer: committer, size: cursorSize,
            onPage: { meter.page($0, $1) })
    }

    private func meter(_ kind: PullRecord.Kind, of expected: Int? = nil) -> PullMeter {
        PullMeter(ProgressMeter(Progress.Kind(rawValue: kind.rawValue) ?? .head, of: expected, time: time), shared)
    }

    // MARK: Dialects P and E

    func pass(
        _ dialect: Dialect, pacing: Pacing?
    ) async throws(SyncFailure) -> (changes: Changes, total: Int) {
        try await record(.pass) { committer throws(SyncFailure) in
            try await passPull(dialect, committer).run(pacing: pacing)
        }
    }

    /// The newest items. The head says how many there are on the server, for comparing.
    func headOfPages(
        _ dialect: Dialect, etag: String?, pageSize: Int, lastPoll: Timestamp
    ) async throws(SyncFailure) -> (changes: Changes, head: PassPull.Head) {
        try await record(.head) { committer throws(SyncFailure) in
            try await passPull(dialect, committer).head(etag: etag, pageSize: pageSize, lastPoll: lastPoll)
        }
    }

    private func passPull(_ dialect: Dialect, _ committer: PageCommitter) -> PassPull {
        let meter = self.meter(committer.record.kind)
        return PassPull(
            identity: identity, store: store, time: time, dialect: dialect, committer: committer, size: passSize,
            onPage: { meter.page($0, of: $1) })
    }

    // MARK: Absence

    func check(accepted: Bool, manual: Bool) async throws(SyncFailure) -> (changes: Changes, held: Int) {
        try await record(.check) { committer throws(SyncFailure) in
            let check = AbsenceCheck(store: store, identity: identity, time: time, requests: committer.requests)
            var record = committer.record
            // What was deleted before it failed counts.
            defer { committer.record = record }
            return try await check.run(&record, accepted: accepted, manual: manual)
        }
    }

    /// Tombstones, texts that were replaced, and entries of the outbox that are over are kept this long.
    private static let life: Duration = .seconds(30 * 86_400)

    /// Removes what was kept for so long. This is no part of the check, which there is none of while no sweep comes to its end.
    func purge() async throws(SyncFailure) {
        // By the clock that is behind: one that leaps for a moment removes nothing.
        let agreedNow = min(time.now(), identity.client.serverTime?.written ?? .earliest)
        let limit = agreedNow.advanced(by: .zero - Self.life)
        do {
            try await store.purgeTombstones(deletedBefore: limit)
            try await store.purgeFormerTexts(replacedBefore: limit)
            try await store.purgeOutbox(endedBefore: limit)
        } catch {
            throw SyncFailure(error)
        }
    }

    // MARK: Texts

    /// The texts that are due, and then the rows of items that turned out to have changed.
    func texts(_ dialect: Dialect, pacing: Pacing) async throws(SyncFailure) -> (changes: Changes, end: TextPull.End) {
        let expected = try await SyncFailure.from(try await store.missingTexts())
        let meter = shared.textMeter?.goingOn(with: expected) ?? self.meter(.texts, of: expected)
        shared.textMeter = meter
        var (changes, (end, doubtful)) = try await record(.texts) { committer throws(SyncFailure) in
            var pull = textPull(committer) { meter.page(1) }
            defer { committer.record = pull.record }
            return (try await pull.run(dialect, pacing: pacing), pull.doubtfulRows)
        }
        // Others are left to the next sweep.
        guard dialect == .cursor else { return (changes, end) }
        for row in Set(doubtful).sorted(by: >).prefix(Self.mostRereads) {
            let start = time.uptime()
            changes += try await reread(top: row, bottom: row, pageSize: Self.smallPage)
            do { try await pacing.pause(after: time.uptime() - start) } catch { throw .cancelled }
            if pacing.givesWay { break }
        }
        return (changes, end)
    }

    /// Rows that are looked at after one pull of texts: each costs a page.
    private static let mostRereads = 10
    private static let smallPage = 5

    /// The text of one item, of any size.
    func text(of id: String) async throws(SyncFailure) -> Changes {
        try await record(.texts) { committer throws(SyncFailure) in
            var pull = textPull(committer) {}
            defer { committer.record = pull.record }
            try await pull.one(id)
        }.0
    }

    private func textPull(_ committer: PageCommitter, onText: @escaping @Sendable () -> Void) -> TextPull {
        let question = TextQuestion(identity: identity, time: time, requests: committer.requests)
        return TextPull(
            store: store, shared: shared, time: time, question: question, onText: onText, record: committer.record)
    }

    // MARK: History

    /// Runs one pull and closes its row in the history, however it ends.
    private func record<Value>(
        _ kind: PullRecord.Kind, _ body: (PageCommitter) async throws(SyncFailure) -> Value
    ) async throws(SyncFailure) -> (Changes, Value) {
        let committer = PageCommitter(
            store: store, identity: identity, time: time, record: PullRecord(kind: kind, startedAt: time.now()))
        let requests = committer.requests
        defer { shared.publish { $0.pull = nil } }
        do {
            let value = try await body(committer)
            let outcome: PullRecord.Outcome = committer.record.outcome == .incomplete ? .incomplete : .complete
            return (Changes(try await finish(committer.record, requests, outcome)), value)
        } catch {
            let outcome: PullRecord.Outcome = error.verdict == .cancelled ? .interrupted : .failed
            var record = committer.record
            record.errorCode = error.verdict == .cancelled ? nil : error.error.code.rawValue
            // The first failure is the cause; one here is its consequence on the same file.
            await SyncFailure.logged(
                log, "the history could not be written", _ = try await finish(record, requests, outcome))
            var failure = error
            failure.changes += Changes(record)
            throw failure
        }
    }

    private func finish(
        _ record: PullRecord, _ requests: RequestCounter, _ outcome: PullRecord.Outcome
    ) async throws(SyncFailure) -> PullRecord {
        var record = record
        record.requests = requests.count
        record.endedAt = time.now()
        record.outcome = outcome
        var missing = record.suspects
        if record.kind == .texts {
            missing = try await SyncFailure.from(try await store.missingTexts())
            // What gave way, or left some that fail, has not come to its end.
            if outcome == .complete, try await !SyncFailure.from(try await store.textsAreComplete()) {
                record.outcome = .incomplete
            }
        }
        try await SyncFailure.from(try await store.finish(record))
        let took = record.endedAt.map { $0.duration(since: record.startedAt).wholeMilliseconds } ?? 0
        log(
            record.hasChanges ? .info : .debug, record.kind == .sweep ? .sweep : .pull,
            "\(record.kind.rawValue) \(record.outcome.rawValue): \(record.added) new, \(record.changed) changed, "
                + "\(record.deleted) deleted, \(missing) missing; \(Count.text(record.requests, "request")), \(took) ms"
        )
        return record
    }
}
