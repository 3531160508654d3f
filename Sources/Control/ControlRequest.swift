package import PRSNLCore
package import Store

/// One line to the control socket: a JSON object with a `command` (docs/cli.md, "The control socket").
package enum ControlRequest: Sendable, Equatable {
    case status
    case sync(full: Bool, wait: Bool, acceptDeletions: Bool)
    case history
    /// Answered when all of it is on disk. `isBrief`: with numbers alone, for many.
    case write([WriteRequest], isBrief: Bool)
    case queue(OutboxFilter, limit: Int)
    case entry(Int64)
    /// `nil`: all that wait.
    case retry([Int64]?, parked: Bool, dryRun: Bool)
    case drop([Int64], withDependents: Bool, dryRun: Bool)
    /// Answered when nothing of them waits any more, or after `atMost`.
    case wait([Int64], atMost: Duration?)
    /// One probe of the server, now.
    case ping
    /// `watch`: first the state, then each change, until one side leaves.
    case net(watch: Bool)
    /// The errors that recur; `clear`: forgets them.
    case errors(clear: Bool)
    /// Whether a login would be taken, before anybody types a password.
    case loginCheck
    case login(LoginHandover)
    case logout
    case whoami
    /// `acceptNew`: sets the copy aside and starts a new one.
    case account(acceptNew: Bool, dryRun: Bool)

    /// Drafts in one `write`, and entries in one `wait`, `retry` or `drop`.
    package static let mostWrites = WriteLimits.together
    /// Entries in the answer to one `queue`.
    package static let mostListed = 1_000
    /// What a list has where nothing else is asked for.
    package static let usuallyListed = 50
}

extension ControlRequest {
    /// What a line of a `write` begins with; such a line may be longer than others.
    static let writePrefix = Array("{\"command\":\"write\"".utf8)

    /// The line, without its end.
    package var line: [UInt8] {
        switch self {
        case .status: Self.line("status")
        case .history: Self.line("history")
        case .ping: Self.line("ping")
        case .net(let watch): Self.line("net", "\"watch\":\(watch)")
        case .errors(let clear): Self.line("errors", "\"clear\":\(clear)")
        case .loginCheck: Self.line("login", "\"check\":true")
        case .login(let handover): Self.line("login", handover.members.joined(separator: ","))
        case .logout: Self.line("logout")
        case .whoami: Self.line("whoami")
        case .account(let acceptNew, let dryRun):
            Self.line("account", "\"accept_new\":\(acceptNew)", "\"dry_run\":\(dryRun)")
        case .sync(let full, let wait, let acceptDeletions):
            Self.line("sync", "\"full\":\(full)", "\"wait\":\(wait)", "\"accept_deletions\":\(acceptDeletions)")
        case .write(let writes, let isBrief): Self.writeLine(writes, isBrief: isBrief)
        case .queue(let filter, let limit): Self.line("queue", "\"filter\":\"\(filter.name)\"", "\"limit\":\(limit)")
        case .entry(let entry): Self.line("entry", "\"entry\":\(entry)")
        case .retry(let entries, let parked, let dryRun):
            Self.line("retry", entries.map(Self.member) ?? "", "\"parked\":\(parked)", "\"dry_run\":\(dryRun)")
        case .drop(let entries, let withDependents, let dryRun):
            Self.line(
                "drop", Self.member(entries), "\"with_dependents\":\(withDependents)", "\"dry_run\":\(dryRun)")
        case .wait(let entries, let atMost):
            Self.line(
                "wait", Self.member(entries), atMost.map { "\"at_most_milliseconds\":\($0.wholeMilliseconds)" } ?? "")
        }
    }

    private static func member(_ entries: [Int64]) -> String {
        "\"entries\":[\(entries.map(String.init).joined(separator: ","))]"
    }

    private static func line(_ command: String, _ members: String...) -> [UInt8] {
        let all = ["\"command\":\"\(command)\""] + members.filter { !$0.isEmpty }
        return Array("{\(all.joined(separator: ","))}".utf8)
    }

    private static func writeLine(_ writes: [WriteRequest], isBrief: Bool) -> [UInt8] {
        var bytes = writePrefix
        bytes.reserveCapacity(writes.count * 192)
        bytes.append(contentsOf: ",\"brief\":\(isBrief),\"writes\":[".utf8)
        for (index, write) in writes.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            write.appendJSON(to: &bytes)
        }
        bytes.append(contentsOf: "]}".utf8)
        return bytes
    }
}
