import CLinux
import Glibc
import PRSNLCore

extension EventLoop {
    /// Logs a request, applies what a fault does before serving, and serves it unless it has to wait.
    func admit(_ request: HTTPRequest, on connection: inout Connection) {
        var admission = shared.state.withLock { $0.admit(request, connection: connection.number) }
        if connection.diesWithNextRequest {
            admission.fault = .closeAfterApplying
        }
        switch admission.fault {
        case .hold: connection.waiting = .held(request, admission)
        case .delay(let duration): connection.waiting = .until(now + duration, request, admission)
        case .storm(.slowInsert(let delay)):
            guard let number = shared.state.withLock({ $0.beginLateInsert(request, after: delay) }) else {
                admission.fault = nil
                serve(request, admission, on: &connection)
                return
            }
            admission.lateInsert = number
            connection.waiting = .until(now + delay + .milliseconds(1), request, admission)
        default:
            if admission.cost > .zero {
                connection.waiting = .until(now + admission.cost, request, admission)
            } else {
                serve(request, admission, on: &connection)
            }
        }
    }

    /// Answers a request, as the fault has it.
    func serve(_ request: HTTPRequest, _ admission: Admission, on connection: inout Connection) {
        if case .perform(let body) = admission.fault { body() }
        response.reset()
        response.hasBody = request.method != "HEAD"
        if let fault = admission.fault, fault.replacesAnswer(response: &response, now: shared.time) {
            finish(request, admission, on: &connection)
            return
        }
        if case .closeBeforeAnswering = admission.fault {
            connection.closesAfterwards = true
            return
        }
        switch admission.fault {
        case .storm(.halfInsert(let tags)):
            shared.state.withLock { $0.respond(to: request.keepingTags(tags), response: &response) }
            if response.status == 201 {
                response.reset()
                response.failUnhandled("Internal server error")
            }
        case .storm(.slowInsert):
            response = shared.state.withLock { $0.answerOfLateInsert(admission.lateInsert) }
        case .lie(let lie):
            shared.state.withLock { state in
                state.pageLie = lie
                state.respond(to: request, response: &response)
                state.pageLie = nil
            }
        default: shared.state.withLock { $0.respond(to: request, response: &response) }
        }
        switch admission.fault {
        case .closeAfterApplying:
            connection.closesAfterwards = true
            return
        case .answerAfterApplying(let status, let headers, let body):
            response.reset()
            response.answer(status: status, headers: headers, body: Array(body.utf8))
        case .dieKeptAlive: connection.diesWithNextRequest = true
        case .storm(.contradiction(let kind)): response.contradict(kind)
        case .aged(let age): response.headers.append(("age", "\(age.components.seconds)"))
        default: break
        }
        finish(request, admission, on: &connection)
    }

    private func finish(_ request: HTTPRequest, _ admission: Admission, on connection: inout Connection) {
        let keepsAlive = request.keepsAlive
        let time = shared.time
        let id = request.headers["x-request-id"] ?? "dev-\(admission.number)"
        let wholeLength = response.body.count
        switch admission.fault {
        case .truncate(let count): response.body.removeSubrange(min(count, wholeLength)...)
        case .stall: response.body.removeSubrange((wholeLength / 2)...)
        default: break
        }
        response.append(
            to: &connection.output, server: serverName,
            date: date(at: time.advanced(by: shared.configuration.dateAhead)), requestID: id, keepsAlive: keepsAlive,
            announcedLength: wholeLength)
        switch admission.fault {
        case .truncate: connection.closesAfterwards = true
        case .stall: connection.waiting = .stalled
        case .holdAnswer: connection.waiting = .answerHeld(admission)
        case .storm(.lateAnswer(let delay)): connection.waiting = .answerLate(now + delay)
        case .drip(let bytes, let interval): connection.drip = .init(bytes: max(1, bytes), interval: interval)
        default: break
        }
        if !keepsAlive { connection.closesAfterwards = true }
        let status = response.status
        shared.state.withLock { $0.answered(admission.number, status: status) }
        if let log = shared.configuration.log, var logged = admission.logged {
            logged.status = status
            log(logged)
        }
    }
}

extension SharedState {
    var time: Timestamp { state.withLock { $0.now } }
}
