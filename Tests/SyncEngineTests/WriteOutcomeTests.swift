import PRSNLCore
import Store
import Testing

@testable import PRSNLClient
@testable import SyncEngine

/// What the answer to a write says of it, for every answer and kind.
@Suite struct WriteOutcomeTests {
    private func error(
        _ kind: APIError.Kind, status: Int? = nil, code: String? = nil, arrived: Bool = true, isSurely: Bool = false,
        detail: String? = nil
    ) -> APIError {
        APIError(
            kind: kind, endpoint: "POST /api/capture", status: status, serverCode: code, requestID: "r",
            mayHaveReachedServer: arrived, isPRSNLError: true, isSurelyPRSNL: isSurely, detail: detail)
    }

    private func outcomes(_ error: APIError) -> [WriteOutcome] {
        [.capture, .note, .edit, .delete].map { WriteOutcome(error, kind: $0) }
    }

    @Test func whatCertainlyDidNotArriveIsNeverLookedFor() {
        for cause in [APIError.NetworkCause.nameNotResolved, .connectFailed, .tlsFailed] {
            #expect(outcomes(error(.networkError(cause), arrived: false)).allSatisfy { $0 == .queued(.unreachable) })
        }
        #expect(outcomes(error(.networkError(.cancelled), arrived: false)).allSatisfy { $0 == .queued(.stopped()) })
    }

    @Test func whatMayHaveArrivedIsNeverSentAgainUnseen() {
        for cause in [APIError.NetworkCause.timedOut, .cutOff, .answerTooLarge(limit: 1), .cancelled] {
            #expect(outcomes(error(.networkError(cause))).allSatisfy { $0 == .unknown(.maybeApplied) })
        }
        for cause in [APIError.DecodingCause.empty, .portal, .notJSON(""), .unexpectedShape("")] {
            #expect(outcomes(error(.decodingError(cause), status: 200)).allSatisfy { $0 == .unknown(.maybeApplied) })
        }
        for status in [502, 503, 504] {
            let error = error(.serviceUnavailable(reason: "", retryAfter: .seconds(9)), status: status)
            #expect(outcomes(error).allSatisfy { $0 == .unknown(.maybeApplied) })
        }
        // A second deletion does no harm. But one that may have been applied is not taken back.
        #expect(
            outcomes(error(.serverError(message: ""), status: 500)).allSatisfy { $0 == .unknown(.maybeApplied) })
        #expect(
            outcomes(error(.unknown(statusCode: 507, message: ""), status: 507)).allSatisfy {
                $0 == .unknown(.maybeApplied)
            })
    }

    @Test func whatTheServerItselfRefusedIsKnownNotToBeApplied() {
        let busy = error(.serviceUnavailable(reason: "", retryAfter: nil), status: 503, isSurely: true)
        #expect(outcomes(busy).allSatisfy { $0 == .queued(.notApplied()) })
        #expect(outcomes(error(.unauthorized, status: 401)).allSatisfy { $0 == .queued(.refused) })
        #expect(outcomes(error(.forbidden, status: 403)).allSatisfy { $0 == .queued(.refused) })
        #expect(outcomes(error(.networkError(.redirectRefused(to: "x")))).allSatisfy { $0 == .queued(.refused) })
        let slow = error(.rateLimitExceeded(retryAfter: .seconds(60)), status: 429)
        #expect(outcomes(slow).allSatisfy { $0 == .queued(.slowDown(.seconds(60))) })
        #expect(outcomes(error(.conflict(message: ""), status: 409)).allSatisfy { $0 == .parked(.rejected) })
        #expect(outcomes(error(.invalidInput(message: ""), status: 422)).allSatisfy { $0 == .parked(.rejected) })
        #expect(
            outcomes(error(.unknown(statusCode: 405, message: ""), status: 405)).allSatisfy {
                $0 == .queued(.notApplied())
            }
        )
    }

    @Test func onlyACaptureCanBeThereAlready() {
        let exists = error(
            .invalidInput(message: ""), status: 400, detail: "This URL already exists in your knowledge base. Item: 'A'"
        )
        #expect(
            outcomes(exists) == [.unknown(.alreadyThere()), .parked(.rejected), .parked(.rejected), .parked(.rejected)])
    }

    @Test func onlyTheItemsOwn404EndsAnything() {
        let gone = error(.notFound(resource: "Item"), status: 404, code: "ITEM_NOT_FOUND")
        #expect(
            outcomes(gone) == [
                .queued(.notApplied()), .queued(.notApplied()), .parked(.itemGone),
                .delivered(WriteOutcome.Delivery(reason: .wasGone), remark: "was already gone"),
            ])
        let route = error(.notFound(resource: "Resource"), status: 404)
        #expect(outcomes(route).allSatisfy { $0 == .queued(.notApplied()) })
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
            failure.origin = .renewal
            #expect(outcomes(failure).allSatisfy { $0 == .queued(.unreachable) }, "\(kind)")
        }
        var refused = error(.loginExpired, arrived: false)
        refused.origin = .renewal
        #expect(outcomes(refused).allSatisfy { $0 == .queued(.needsLogin) })
        #expect(outcomes(error(.loginExpired)).allSatisfy { $0 == .queued(.needsLogin) })
    }
}
