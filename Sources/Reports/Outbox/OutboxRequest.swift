import Console
package import Control
package import PRSNLCore
package import Store

/// A request that changes what is in the file, over an open store: in the daemon, and in prsnlctl while the daemon is
/// stopped, so that both answer alike.
package protocol OutboxRequest: ControlRequest {
    func perform(_ outbox: OutboxOperations) async throws(UserFacingError) -> Answer
    static func hasChanged(_ answer: Answer) -> Bool
}

/// What an outbox request is carried out with.
package struct OutboxOperations: Sendable {
    let store: Store
    let source: StatusReport.Source
    let now: @Sendable () -> Timestamp
    /// When what is queued now will be sent.
    let sending: @Sendable () -> Sending

    package init(
        store: Store, source: StatusReport.Source, now: @escaping @Sendable () -> Timestamp,
        sending: @escaping @Sendable () -> Sending
    ) {
        self.store = store
        self.source = source
        self.now = now
        self.sending = sending
    }
}

extension RequestMembers {
    /// As many as one request may be about.
    func entries() throws(RequestRefusal) -> [Int64] {
        guard let entries = try numbers("entries"), !entries.isEmpty, entries.count <= WriteLimits.together else {
            throw RequestRefusal(reason: "entries must have 1 to \(WriteLimits.together) numbers")
        }
        return entries
    }

    func writes() throws(RequestRefusal) -> [WriteRequest] {
        let writes = try value("writes") { reader in
            var writes: [WriteRequest] = []
            guard try reader.enterArray() else { return writes }
            repeat {
                guard writes.count < WriteLimits.together else {
                    throw RequestRefusal(reason: "writes has more than \(WriteLimits.together)")
                }
                do {
                    writes.append(try WriteRequest(try JSONFields(&reader)))
                } catch let failure as JSONFields.Failure {
                    throw RequestRefusal(reason: "writes[\(writes.count)]: \(failure.reason)")
                }
            } while try reader.nextElement()
            return writes
        }
        guard let writes, !writes.isEmpty else {
            throw RequestRefusal(reason: "writes must have 1 to \(WriteLimits.together) objects")
        }
        return writes
    }
}

extension RequestLine {
    mutating func add(_ writes: [WriteRequest]) {
        add("writes") { bytes in
            bytes.reserveCapacity(writes.count * 192)
            bytes.append(UInt8(ascii: "["))
            for (index, write) in writes.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                write.fields.append(to: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        }
    }
}

/// When the daemon will send what is queued, as far as that can be known.
package enum Sending: String, Sendable, Codable {
    /// The server is reachable.
    case inTurn = "in_turn"
    case whenReachable = "when_reachable"
    /// The server refuses the credentials.
    case whenAuthorized = "when_authorized"
    /// The server is reachable, and something else keeps all writes back.
    case whenPossible = "when_possible"
    case whenDaemonRuns = "when_daemon_runs"

    func text(_ style: TextStyle) -> String {
        switch self {
        case .inTurn: "will be sent in turn"
        case .whenReachable: "will be sent when the server is reachable"
        case .whenAuthorized:
            "will be sent when the server accepts the credentials: see \(style.command("prsnlctl whoami"))"
        case .whenPossible: "nothing is sent at the moment: see \(style.command("prsnlctl queue"))"
        case .whenDaemonRuns: "will be sent when the daemon runs"
        }
    }
}
