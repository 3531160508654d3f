package import PRSNLCore
package import Reports

/// One line from the control socket: a JSON object with a `type` and a member of that name.
package enum ControlReply: Sendable, Equatable {
    case status(StatusReport)
    case history(HistoryReport)
    /// A pull that is waited for; `nil` between two pulls. More lines follow.
    case progress(PullProgress?)
    case sync(SyncReport)
    case write(WriteReport)
    /// The answer to a `write` with `brief`.
    case tally(WriteTally)
    /// To a `wait`: the first of the entries that still waits, and why. More lines follow.
    case waiting(QueueReport)
    case delivery(DeliveryReport)
    case queue(QueueReport)
    case entry(EntryReport)
    case retry(RetryReport)
    case drop(DropReport)
    case ping(PingReport)
    case net(NetReport)
    /// To a `net` with `watch`. More lines follow.
    case netChange(NetChange)
    case errors(ErrorsReport)
    /// To a login that is only checked.
    case loginReady(LoginReadiness)
    case login(LoginReport)
    case logout(LogoutReport)
    case whoami(WhoamiReport)
    case account(AccountReport)
    case error(ErrorReport)

    /// Whether it is the last line for its request.
    package var isFinal: Bool {
        switch self {
        case .progress, .netChange, .waiting: false
        default: true
        }
    }
}

extension ControlReply: Codable {
    private enum CodingKeys: String, CodingKey {
        case type, status, history, progress, sync, write, tally, waiting, delivery, queue, entry, retry, drop, ping,
            net, error,
            errors
        case netChange = "net_change"
        case loginReady = "login_ready"
        case login, logout, whoami, account
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        guard let type = CodingKeys(rawValue: try container.decode(String.self, forKey: .type)) else {
            throw DecodingError.dataCorruptedError(forKey: .type, in: container, debugDescription: "unknown type")
        }
        switch type {
        case .status: self = .status(try container.decode(StatusReport.self, forKey: .status))
        case .history: self = .history(try container.decode(HistoryReport.self, forKey: .history))
        case .progress: self = .progress(try container.decodeIfPresent(PullProgress.self, forKey: .progress))
        case .sync: self = .sync(try container.decode(SyncReport.self, forKey: .sync))
        case .write: self = .write(try container.decode(WriteReport.self, forKey: .write))
        case .tally: self = .tally(try container.decode(WriteTally.self, forKey: .tally))
        case .waiting: self = .waiting(try container.decode(QueueReport.self, forKey: .waiting))
        case .delivery: self = .delivery(try container.decode(DeliveryReport.self, forKey: .delivery))
        case .queue: self = .queue(try container.decode(QueueReport.self, forKey: .queue))
        case .entry: self = .entry(try container.decode(EntryReport.self, forKey: .entry))
        case .retry: self = .retry(try container.decode(RetryReport.self, forKey: .retry))
        case .drop: self = .drop(try container.decode(DropReport.self, forKey: .drop))
        case .ping: self = .ping(try container.decode(PingReport.self, forKey: .ping))
        case .net: self = .net(try container.decode(NetReport.self, forKey: .net))
        case .netChange: self = .netChange(try container.decode(NetChange.self, forKey: .netChange))
        case .errors: self = .errors(try container.decode(ErrorsReport.self, forKey: .errors))
        case .loginReady: self = .loginReady(try container.decode(LoginReadiness.self, forKey: .loginReady))
        case .login: self = .login(try container.decode(LoginReport.self, forKey: .login))
        case .logout: self = .logout(try container.decode(LogoutReport.self, forKey: .logout))
        case .whoami: self = .whoami(try container.decode(WhoamiReport.self, forKey: .whoami))
        case .account: self = .account(try container.decode(AccountReport.self, forKey: .account))
        case .error: self = .error(try container.decode(ErrorReport.self, forKey: .error))
        case .type:
            throw DecodingError.dataCorruptedError(forKey: .type, in: container, debugDescription: "unknown type")
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        func put(_ key: CodingKeys, _ value: some Encodable) throws {
            try container.encode(key.rawValue, forKey: .type)
            try container.encode(value, forKey: key)
        }
        switch self {
        case .status(let report): try put(.status, report)
        case .history(let report): try put(.history, report)
        case .progress(let progress): try put(.progress, progress)
        case .sync(let report): try put(.sync, report)
        case .write(let report): try put(.write, report)
        case .tally(let tally): try put(.tally, tally)
        case .waiting(let report): try put(.waiting, report)
        case .delivery(let report): try put(.delivery, report)
        case .queue(let report): try put(.queue, report)
        case .entry(let report): try put(.entry, report)
        case .retry(let report): try put(.retry, report)
        case .drop(let report): try put(.drop, report)
        case .ping(let report): try put(.ping, report)
        case .net(let report): try put(.net, report)
        case .netChange(let change): try put(.netChange, change)
        case .errors(let report): try put(.errors, report)
        case .loginReady(let readiness): try put(.loginReady, readiness)
        case .login(let report): try put(.login, report)
        case .logout(let report): try put(.logout, report)
        case .whoami(let report): try put(.whoami, report)
        case .account(let report): try put(.account, report)
        case .error(let error): try put(.error, error)
        }
    }
}

extension ControlReply {
    /// The error for an answer that does not fit the question.
    package func unexpected() -> UserFacingError {
        if case .error(let report) = self { return report.userFacing }
        return UserFacingError(.controlProtocol, "The daemon answered something else than it was asked.")
    }
}
