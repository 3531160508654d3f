import PRSNLClient
import PRSNLCore
import Store
import Testing

@testable import SyncEngine

/// What the answer to a write says of it, for every answer and kind.
@Suite struct WriteFindingTests {
    private func error(
        _ kind: APIError.Kind, status: Int? = nil, code: String? = nil, arrived: Bool = true, isSurely: Bool = false,
        detail: String? = nil
    ) -> APIError {
        APIError(
            kind: kind, endpoint: "POST /api/capture", status: status, serverCode: code, requestID: "r",
            mayHaveReachedServer: arrived, isPRSNLError: true, isSurelyPRSNL: isSurely, detail: detail)
    }

    private func findings(_ error: APIError) -> [WriteFinding] {
        [.capture, .note, .edit, .delete].map { WriteFinding(error, kind: $0) }
    }

    @Test func whatCertainlyDidNotArriveIsNeverLookedFor() {
        for cause in [APIError.NetworkCause.nameNotResolved, .connectFailed, .tlsFailed] {
            #expect(findings(error(.networkError(cause), arrived: false)).allSatisfy { $0 == .unreachable })
        }
        #expect(findings(error(.networkError(.cancelled), arrived: false)).allSatisfy { $0 == .stopped() })
    }

    @Test func whatMayHaveArrivedIsNeverSentAgainUnseen() {
        for cause in [APIError.NetworkCause.timedOut, .cutOff, .answerTooLarge(limit: 1), .cancelled] {
            #expect(findings(error(.networkError(cause))).allSatisfy { $0 == .maybeApplied })
        }
        for cause in [APIError.DecodingCause.empty, .portal, .notJSON(""), .unexpectedShape("")] {
            #expect(findings(error(.decodingError(cause), status: 200)).allSatisfy { $0 == .maybeApplied })
        }
        for status in [502, 503, 504] {
            let error = error(.serviceUnavailable(reason: "", retryAfter: .seconds(9)), status: status)
            #expect(findings(error).prefix(3).allSatisfy { $0 == .maybeApplied })
            #expect(findings(error)[3] == .notApplied(after: .seconds(9)), "a second deletion does no harm")
        }
        #expect(
            findings(error(.serverError(message: ""), status: 500)) == [
                .maybeApplied, .maybeApplied, .maybeApplied, .notApplied(),
            ])
        #expect(findings(error(.unknown(statusCode: 507, message: ""), status: 507)).allSatisfy { $0 == .maybeApplied })
    }

    @Test func whatTheServerItselfRefusedIsKnownNotToBeApplied() {
        let busy = error(.serviceUnavailable(reason: "", retryAfter: nil), status: 503, isSurely: true)
        #expect(findings(busy).allSatisfy { $0 == .notApplied() })
        #expect(findings(error(.unauthorized, status: 401)).allSatisfy { $0 == .refused })
        #expect(findings(error(.forbidden, status: 403)).allSatisfy { $0 == .refused })
        #expect(findings(error(.networkError(.redirectRefused(to: "x")))).allSatisfy { $0 == .refused })
        let slow = error(.rateLimitExceeded(retryAfter: .seconds(60)), status: 429)
        #expect(findings(slow).allSatisfy { $0 == .slowDown(.seconds(60)) })
        #expect(findings(error(.conflict(message: ""), status: 409)).allSatisfy { $0 == .rejected })
        #expect(findings(error(.invalidInput(message: ""), status: 422)).allSatisfy { $0 == .rejected })
        #expect(
            findings(error(.unknown(statusCode: 405, message: ""), status: 405)).allSatisfy { $0 == .notApplied() }
        )
    }

    @Test func onlyACaptureCanBeThereAlready() {
        let exists = error(
            .invalidInput(message: ""), status: 400, detail: "This URL already exists in your knowledge base. Item: 'A'"
        )
        #expect(findings(exists) == [.alreadyThere, .rejected, .rejected, .rejected])
    }

    @Test func onlyTheItemsOwn404EndsAnything() {
        let gone = error(.notFound(resource: "Item"), status: 404, code: "ITEM_NOT_FOUND")
        #expect(
            findings(gone) == [
                .notApplied(), .notApplied(), .itemGone, .applied(Settlement.Delivery(), remark: "was already gone"),
            ])
        let route = error(.notFound(resource: "Resource"), status: 404)
        #expect(findings(route).allSatisfy { $0 == .notApplied() })
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
            #expect(findings(failure).allSatisfy { $0 == .unreachable }, "\(kind)")
        }
        var refused = error(.loginExpired, arrived: false)
        refused.origin = .renewal
        #expect(findings(refused).allSatisfy { $0 == .needsLogin })
        #expect(findings(error(.loginExpired)).allSatisfy { $0 == .needsLogin })
    }
}
