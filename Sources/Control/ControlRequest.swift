/// One line to the control socket: a JSON object with a `command` (docs/cli.md, "The control socket").
public enum ControlRequest: Sendable, Equatable {
    case status
    case sync(full: Bool, wait: Bool, acceptDeletions: Bool)
    case history
}

extension ControlRequest: Codable {
    private enum CodingKeys: String, CodingKey {
        case command, full, wait
        case acceptDeletions = "accept_deletions"
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let command = try container.decode(String.self, forKey: .command)
        switch command {
        case "status": self = .status
        case "history": self = .history
        case "sync":
            self = .sync(
                full: try container.decodeIfPresent(Bool.self, forKey: .full) ?? false,
                wait: try container.decodeIfPresent(Bool.self, forKey: .wait) ?? false,
                acceptDeletions: try container.decodeIfPresent(Bool.self, forKey: .acceptDeletions) ?? false)
        default:
            throw DecodingError.dataCorruptedError(
                forKey: .command, in: container, debugDescription: "unknown command")
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .status: try container.encode("status", forKey: .command)
        case .history: try container.encode("history", forKey: .command)
        case .sync(let full, let wait, let acceptDeletions):
            try container.encode("sync", forKey: .command)
            try container.encode(full, forKey: .full)
            try container.encode(wait, forKey: .wait)
            try container.encode(acceptDeletions, forKey: .acceptDeletions)
        }
    }
}
