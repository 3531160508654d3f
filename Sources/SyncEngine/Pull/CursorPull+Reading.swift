import PRSNLClient
import PRSNLCore
import Store

/// Reads one page, and believes it only where it fits what is known.
extension CursorPull {
    /// A page that may be believed, and what it proves.
    struct Read {
        var change: PageChange
        var next: CursorPlan.Step
        var took: Duration
    }

    /// What speaks against a page.
    private enum Doubt {
        /// It breaks the API's promises by itself.
        case broken(SyncFailure)
        /// It lacks everything that it has to show: these.
        case lacks([String])
        /// It shows nothing of what the copy has there, among others these.
        case shares([String])
        /// Nothing is known that it would have to show.
        case unanchored(TimelinePage)
    }

    /// Asks for the plan's next page. One that contradicts itself, or what is known, is asked for again; if it still
    /// does, it proves nothing.
    func read(_ plan: inout CursorPlan, _ session: ClientSession) async throws(SyncFailure) -> Read {
        var doubted: Doubt?
        var isRaised = false
        while true {
            guard let fetched = try await fetchWhatFits(&plan, session) else {
                return Read(change: PageChange(items: []), next: .crowded(plan.request.top), took: .zero)
            }
            var after = plan
            let (read, doubt) = try await judge(fetched, &after)
            guard let doubt else {
                plan = after
                return read
            }
            guard let first = doubted else {
                doubted = doubt
                continue
            }
            switch doubt {
            case .broken(let failure): throw failure
            case .unanchored(let page):
                guard case .unanchored(let other) = first, other.isSame(as: page) else {
                    throw CursorPlan.contradictory("asked for twice, it is another one each time")
                }
                plan = after
                return read
            case .shares(let ids):
                if try await hasAny(of: ids, session) {
                    throw CursorPlan.contradictory("it shows nothing of what the server still has in that stretch")
                }
                plan = after
                return read
            case .lacks(let ids):
                if try await !hasAny(of: ids, session) {
                    plan.forgetAnchors()
                } else if isRaised {
                    throw CursorPlan.contradictory("it does not go on where the page before it has ended")
                } else if plan.raise() {
                    isRaised = true
                } else {
                    // A single item is known, and the server hides it.
                    plan.forgetAnchors()
                }
                doubted = nil
            }
        }
    }

    private func judge(
        _ fetched: Fetched, _ plan: inout CursorPlan
    ) async throws(SyncFailure) -> (read: Read, doubt: Doubt?) {
        let before = plan
        var read = Read(change: PageChange(items: []), next: .finished, took: fetched.took)
        do throws(SyncFailure) {
            (read.change, read.next) = try plan.take(fetched.page)
        } catch {
            return (read, .broken(error))
        }
        read.change.asOf = fetched.asOf
        read.change.bytes = fetched.page.bytes
        guard before.isAnchored(fetched.page) else { return (read, .lacks(before.anchors.map(\.id))) }
        do {
            let missing = try await store.unshared(by: read.change, moreThan: Self.believableAbsence)
            if !missing.isEmpty { return (read, .shares(missing)) }
        } catch {
            throw SyncFailure(store: error)
        }
        return (read, before.isUnanchored ? .unanchored(fetched.page) : nil)
    }

    /// So many items that are known in a stretch may all be gone from the list, without more ado: they become suspects, and
    /// are asked for one by one.
    private static let believableAbsence = 5
    /// How many items are asked for by their id, to see who is right.
    private static let witnesses = 3

    /// Whether the server still has one of these items.
    private func hasAny(of ids: [String], _ session: ClientSession) async throws(SyncFailure) -> Bool {
        for id in ids.prefix(Self.witnesses) {
            requests.add()
            do throws(APIError) {
                if try await session.itemExists(id) { return true }
            } catch {
                // A server that cannot answer for this item has not said that it is gone.
                guard error.saysNothingOfTheItem else { return true }
                throw SyncFailure(error)
            }
        }
        return false
    }

    // MARK: Pages that are too large

    /// - Returns: `nil` where not all of an instant can be read, because it is too large.
    private func fetchWhatFits(
        _ plan: inout CursorPlan, _ session: ClientSession
    ) async throws(SyncFailure) -> Fetched? {
        plan.allow(size.limit)
        while true {
            do throws(SyncFailure) {
                let fetched = try await fetch(plan.request, session)
                size.noteGood()
                return fetched
            } catch {
                guard error.error.code == .answerTooLarge, let step = plan.reduce() else { throw error }
                guard case .request(let smaller) = step else { return nil }
                size.reduce(to: smaller.limit)
            }
        }
    }
}

extension APIError {
    /// Whether the next request would probably fail as well, whatever it asks for.
    fileprivate var saysNothingOfTheItem: Bool {
        switch kind {
        case .networkError, .rateLimitExceeded, .serviceUnavailable, .unauthorized, .loginExpired, .loginFailed,
            .forbidden, .sessionEnded:
            true
        case .notFound, .invalidInput, .conflict, .serverError, .decodingError, .unknown: false
        }
    }
}

extension TimelinePage {
    /// Whether both have the same place on the timeline.
    fileprivate func isSame(as other: TimelinePage) -> Bool {
        nextCursor == other.nextCursor && items.map { ByteText($0.id) } == other.items.map { ByteText($0.id) }
    }
}
