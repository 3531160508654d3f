import NetMonitor
import PRSNLClient
import PRSNLCore
import Store
import Testing

@testable import SyncEngine

/// The pure values of the replay, as tables.
@Suite struct WriteVerdictTests {
    private func error(
        _ kind: APIError.Kind, status: Int? = nil, code: String? = nil, arrived: Bool = true, isSurely: Bool = false,
        detail: String? = nil
    ) -> APIError {
        APIError(
            kind: kind, endpoint: "POST /api/capture", status: status, serverCode: code, requestID: "r",
            mayHaveReachedServer: arrived, isPRSNLError: true, isSurelyPRSNL: isSurely, detail: detail)
    }

    private func verdicts(_ error: APIError) -> [WriteVerdict] {
        [.capture, .note, .edit, .delete].map { WriteVerdict(error, kind: $0) }
    }

    @Test func whatCertainlyDidNotArriveIsNeverLookedFor() {
        for cause in [APIError.NetworkCause.nameNotResolved, .connectFailed, .tlsFailed] {
            #expect(verdicts(error(.networkError(cause), arrived: false)).allSatisfy { $0 == .waitForNetwork })
        }
        #expect(verdicts(error(.networkError(.cancelled), arrived: false)).allSatisfy { $0 == .returned })
    }

    @Test func whatMayHaveArrivedIsNeverSentAgainUnseen() {
        for cause in [APIError.NetworkCause.timedOut, .cutOff, .answerTooLarge(limit: 1), .cancelled] {
            #expect(verdicts(error(.networkError(cause))).allSatisfy { $0 == .look })
        }
        for cause in [APIError.DecodingCause.empty, .portal, .notJSON(""), .unexpectedShape("")] {
            #expect(verdicts(error(.decodingError(cause), status: 200)).allSatisfy { $0 == .look })
        }
        for status in [502, 503, 504] {
            let error = error(.serviceUnavailable(reason: "", retryAfter: .seconds(9)), status: status)
            #expect(verdicts(error).prefix(3).allSatisfy { $0 == .look })
            #expect(verdicts(error)[3] == .retry(after: .seconds(9)), "a second deletion does no harm")
        }
        #expect(verdicts(error(.serverError(message: ""), status: 500)) == [.look, .look, .look, .retry(after: nil)])
        #expect(verdicts(error(.unknown(statusCode: 507, message: ""), status: 507)).allSatisfy { $0 == .look })
    }

    @Test func whatTheServerItselfRefusedIsKnownNotToBeApplied() {
        let busy = error(.serviceUnavailable(reason: "", retryAfter: nil), status: 503, isSurely: true)
        #expect(verdicts(busy).allSatisfy { $0 == .retry(after: nil) })
        #expect(verdicts(error(.unauthorized, status: 401)).allSatisfy { $0 == .refused })
        #expect(verdicts(error(.forbidden, status: 403)).allSatisfy { $0 == .refused })
        #expect(verdicts(error(.networkError(.redirectRefused(to: "x")))).allSatisfy { $0 == .refused })
        let slow = error(.rateLimitExceeded(retryAfter: .seconds(60)), status: 429)
        #expect(verdicts(slow).allSatisfy { $0 == .slowDown(.seconds(60)) })
        #expect(verdicts(error(.conflict(message: ""), status: 409)).allSatisfy { $0 == .park })
        #expect(verdicts(error(.invalidInput(message: ""), status: 422)).allSatisfy { $0 == .park })
        #expect(
            verdicts(error(.unknown(statusCode: 405, message: ""), status: 405)).allSatisfy { $0 == .retry(after: nil) }
        )
    }

    @Test func onlyACaptureCanBeThereAlready() {
        let exists = error(
            .invalidInput(message: ""), status: 400, detail: "This URL already exists in your knowledge base. Item: 'A'"
        )
        #expect(verdicts(exists) == [.alreadyThere, .park, .park, .park])
    }

    @Test func onlyTheItemsOwn404EndsAnything() {
        let gone = error(.notFound(resource: "Item"), status: 404, code: "ITEM_NOT_FOUND")
        #expect(verdicts(gone) == [.retry(after: nil), .retry(after: nil), .park, .done(remark: "was already gone")])
        let route = error(.notFound(resource: "Resource"), status: 404)
        #expect(verdicts(route).allSatisfy { $0 == .retry(after: nil) })
    }

    @Test func aWriteThatWaitsForALoginToBeRenewedHasNotFailedAtAnything() {
        let kinds: [APIError.Kind] = [
            .notFound(resource: "Resource"), .invalidInput(message: ""), .conflict(message: ""),
            .serverError(message: ""),
            .serviceUnavailable(reason: "", retryAfter: nil), .networkError(.cutOff), .decodingError(.portal),
            .unknown(statusCode: 418, message: ""),
        ]
        for kind in kinds {
            var failure = error(kind, arrived: false)
            failure.isOfRenewal = true
            #expect(verdicts(failure).allSatisfy { $0 == .waitForNetwork }, "\(kind)")
        }
        var refused = error(.loginExpired, arrived: false)
        refused.isOfRenewal = true
        #expect(verdicts(refused).allSatisfy { $0 == .waitForLogin })
        #expect(verdicts(error(.loginExpired)).allSatisfy { $0 == .waitForLogin })
    }

    // MARK: Backoff and pace

    @Test func eightAttemptsAtAFailingServerTakeADay() {
        let waits = (1...7).compactMap { WriteBackoff.afterServerError(failures: $0, draw: 0) }
        #expect(waits.count == 7)
        #expect(waits.reduce(.zero, +) >= .seconds(86_400))
        #expect(WriteBackoff.afterServerError(failures: 8, draw: 0) == nil)
    }

    @Test func probesAreCapped() {
        for failures in 1...200 {
            #expect(Backoff.probes.wait(failures: failures, draw: 1) <= .seconds(60))
            #expect(Backoff.probes.wait(failures: failures, draw: 0) >= .milliseconds(800))
        }
    }

    @Test func aPaceOnceLearntIsNotExceededInAnyWindow() {
        var pace = Pace()
        for _ in 0..<31 { pace.noteSent(at: .seconds(5)) }
        pace.noteRefused(at: .seconds(5), retryAfter: .seconds(60))
        #expect(pace.limit == 30)
        var sent: [Duration] = []
        var now = Duration.seconds(5)
        for _ in 0..<290 {
            now = max(now, pace.nextAt())
            pace.noteSent(at: now)
            sent.append(now)
        }
        for (earlier, later) in zip(sent, sent.dropFirst(30)) { #expect(later - earlier > .seconds(60)) }
    }

    /// How many a server takes of `pace` until `end`, that lets 30 a minute in, and another client use what `others` says.
    private func taken(_ pace: inout Pace, from start: Duration = .zero, until end: Duration, others: (Int) -> Int)
        -> (taken: Int, refused: Int)
    {
        var (taken, refused, now) = (0, 0, start)
        var window: (start: Duration, used: Int)?
        var number = 0
        while true {
            now = max(now, pace.nextAt()) + .milliseconds(50)
            guard now < end else { return (taken, refused) }
            if window.map({ now - $0.start >= .seconds(60) }) ?? true {
                window = (now, others(number))
                number += 1
            }
            pace.noteSent(at: now)
            window?.used += 1
            if window?.used ?? 0 <= 30 {
                taken += 1
            } else {
                refused += 1
                pace.noteRefused(at: now, retryAfter: .seconds(60))
            }
        }
    }

    @Test func aWindowThatAnotherClientUsedUpDoesNotSlowTheNextOnes() {
        for others in 0...30 {
            var pace = Pace()
            let result = taken(&pace, until: .seconds(250)) { $0 == 0 ? others : 0 }
            #expect(result.taken >= 60, "\(others) by another client: \(result)")
        }
    }

    @Test func aLimitOfWhichAnotherClientTakesHalfIsFoundAgainWhenThatOneIsGone() {
        var pace = Pace()
        _ = taken(&pace, until: .seconds(1_200)) { _ in 15 }
        #expect(pace.limit == 15)
        // Ten windows until the first trial.
        _ = taken(&pace, from: .seconds(1_200), until: .seconds(2_000)) { _ in 0 }
        let later = taken(&pace, from: .seconds(2_000), until: .seconds(8_000)) { _ in 0 }
        #expect(later.taken >= 2_400 && later.refused <= 8, "\(later)")
    }

    @Test func aRefusalOfTheFirstRequestSaysNothingAboutTheLimit() {
        var pace = Pace()
        pace.noteSent(at: .seconds(5))
        pace.noteRefused(at: .seconds(5), retryAfter: .seconds(60))
        #expect(pace.limit == nil)
        #expect(pace.nextAt() >= .seconds(65))
    }

    // MARK: Comparisons

    @Test func anEditIsSentOnlyOverWhatItWasMadeOn() {
        let ours = ItemEdit(title: "Ours", tags: ["b", "a"])
        let base = ItemEdit(title: "Base", tags: ["x"])
        #expect(
            EditComparison(ours, base: base, theirs: ItemEdit(title: "Ours", tags: ["a", "b"]), wasSent: false) == .done
        )
        #expect(EditComparison(ours, base: base, theirs: ItemEdit(title: "Base", tags: ["x"]), wasSent: false) == .send)
        #expect(EditComparison(ours, base: base, theirs: ItemEdit(title: "Ours", tags: ["x"]), wasSent: false) == .send)
        let theirs = ItemEdit(title: "Theirs", tags: ["x"])
        #expect(EditComparison(ours, base: base, theirs: theirs, wasSent: false) == .conflict(theirs: theirs))
        #expect(EditComparison(ours, base: nil, theirs: theirs, wasSent: false) == .send)
        #expect(
            EditComparison(
                ItemEdit(summary: "S"), base: ItemEdit(), theirs: ItemEdit(title: "T", summary: ""), wasSent: false)
                == .send
        )
        // What was sent may come back as the server has cleaned it; what was not is another text.
        let spaced = ItemEdit(title: "Base  of")
        #expect(EditComparison(spaced, base: base, theirs: ItemEdit(title: "Base of"), wasSent: true) == .done)
        #expect(
            EditComparison(spaced, base: ItemEdit(title: "Base of"), theirs: ItemEdit(title: "Base of"), wasSent: true)
                == .send)
    }

    @Test func aTextThatTheServerHasCutIsOurs() {
        let long = String(repeating: "word ", count: 60)
        let cut = ItemEdit(title: String(long.prefix(200)))
        let edit = ItemEdit(title: long)
        let base = ItemEdit(title: "Base")
        #expect(EditComparison(edit, base: base, theirs: cut, wasSent: true) == .done)
        #expect(EditComparison(edit, base: base, theirs: cut, wasSent: false) == .conflict(theirs: cut))
        let short = ItemEdit(title: "word")
        #expect(EditComparison(edit, base: base, theirs: short, wasSent: true) == .conflict(theirs: short))
    }

    @Test func anAnswerThatShowsTheOldValueHasIgnoredTheEdit() {
        let edit = ItemEdit(title: "New", tags: ["a"])
        let base = ItemEdit(title: "Old", tags: [])
        func isIgnored(_ theirs: ItemEdit) -> Bool { EditComparison.isIgnored(edit, base: base, theirs: theirs) }
        #expect(isIgnored(base))
        #expect(isIgnored(ItemEdit(title: "New", tags: [])))
        #expect(!isIgnored(edit))
        // A field that the answer lacks says nothing, and another value is the server's own form of ours.
        #expect(!isIgnored(ItemEdit(title: "New")))
        #expect(!isIgnored(ItemEdit(title: "NEW", tags: ["A"])))
    }

    private func candidate(_ id: String, title: String?, content: String? = nil, status: String = "completed")
        -> CreationSearch.Candidate
    {
        var item = TimelineItem(id: id, createdAt: Timestamp(microseconds: 5_000_000))
        item.title = title
        item.status = status
        return CreationSearch.Candidate(item: item, content: content)
    }

    @Test func aCreationIsFoundByItsTextAndNotByItsName() {
        let evidence = SendEvidence(knownIDs: ["old"])
        let search = CreationSearch(item: NewItem(title: "Groceries", note: " Bread and \u{1C}"), evidence: evidence)
        func finding(_ candidates: CreationSearch.Candidate...) -> CreationSearch.Finding { search.finding(candidates) }
        #expect(finding() == .absent)
        #expect(finding(candidate("a", title: "Other", content: "Bread and")) == .found(id: "a"))
        #expect(finding(candidate("a", title: "Other", content: "Other")) == .absent)
        #expect(finding(candidate("a", title: "Bread and", status: "failed")) == .found(id: "a"))
        #expect(finding(candidate("a", title: "Groceries", status: "failed")) == .ambiguous)
        #expect(finding(candidate("a", title: "Groceries", content: "Milk")) == .ambiguous)
        #expect(finding(candidate("a", title: "Groceries", status: "pending")) == .unsettled)
        // Retitled by somebody else before its text could be read.
        #expect(finding(candidate("a", title: "Theirs", status: "pending")) == .unsettled)
        #expect(finding(candidate("a", title: "Theirs", status: "failed")) == .ambiguous)
        #expect(
            finding(candidate("a", title: "x", content: "Bread and"), candidate("b", title: "y", content: "Bread and"))
                == .ambiguous)
        #expect(!search.isCandidate(candidate("old", title: nil).item))
        // What the server works on is waited for only where it could be it.
        #expect(search.isCandidate(candidate("a", title: "Untitled", status: "pending").item))
        #expect(search.isCandidate(candidate("a", title: "Groceries", status: "pending").item))
        #expect(!search.isCandidate(candidate("a", title: "Something else", status: "pending").item))
    }

    @Test func aTextIsTheSameHoweverTheServerSpacesIt() {
        let search = CreationSearch(
            item: NewItem(note: "Bread,  butter\n\nand\tmilk\n"), evidence: SendEvidence(knownIDs: []))
        #expect(
            search.finding([candidate("a", title: "Bread, butter", content: "Bread, butter and milk")])
                == .found(id: "a"))
        #expect(ServerText.isSame("<b>Bold</b> &  plain", "Bold & plain"))
        #expect(!ServerText.isSame("a < b", "a"))
    }

    /// Another client may have captured the same URL in the same moment.
    @Test func ofSeveralItemsWithOurURLTheOneWithOurTitleAndTagsIsOurs() {
        let url = "https://example.org/a"
        let search = CreationSearch(
            item: NewItem(url: url, title: "Ours", tags: ["b", "a"]), evidence: SendEvidence(knownIDs: []))
        func there(_ id: String, _ title: String, _ tags: String) -> CreationSearch.Candidate {
            var candidate = candidate(id, title: title)
            candidate.item.url = url
            candidate.item.tags = tags
            return candidate
        }
        let theirs = there("a", "Theirs", "[]")
        #expect(search.finding([theirs]) == .found(id: "a"))
        #expect(search.finding([theirs, there("b", "Ours", #"["a","b"]"#)]) == .found(id: "b"))
        #expect(search.finding([theirs, there("b", "The page's title", #"["a","b"]"#)]) == .found(id: "b"))
        #expect(search.finding([theirs, there("b", "Another", "[]")]) == .ambiguous)
        #expect(search.finding([there("a", "Ours", #"["a","b"]"#), there("b", "Ours", #"["a","b"]"#)]) == .ambiguous)
    }
}
