package import Console
package import Control
package import PRSNLCore

/// Asks the daemon to pull now.
package struct SyncNowRequest: ControlRequest {
    package typealias Answer = SyncReport
    package typealias Update = PullProgress
    package static let command = "sync"

    /// The whole timeline again.
    package let full: Bool
    /// Answered at the end of the pull, with its progress before that.
    package let wait: Bool
    package let acceptDeletions: Bool
    /// The texts that are missing, without pauses.
    package let texts: Bool
    /// The text of this item, of any size. The beginning of an id is enough.
    package let text: String?
    package var isChange: Bool { true }

    package init(full: Bool, wait: Bool, acceptDeletions: Bool, texts: Bool = false, text: String? = nil) {
        self.full = full
        self.wait = wait
        self.acceptDeletions = acceptDeletions
        self.texts = texts
        self.text = text
    }

    package init(_ members: RequestMembers) throws(RequestRefusal) {
        full = try members.bool("full")
        wait = try members.bool("wait")
        acceptDeletions = try members.bool("accept_deletions")
        texts = try members.bool("texts")
        text = try members.text("text")
    }

    package func write(to line: inout RequestLine) {
        line.add("full", full)
        line.add("wait", wait)
        line.add("accept_deletions", acceptDeletions)
        line.add("texts", texts)
        if let text { line.add("text", text) }
    }
}

/// What became of a requested pull: the JSON of `prsnlctl sync --json`.
package struct SyncReport: ControlReply {
    package static let type = "sync"

    package enum Outcome: String, Sendable, Codable {
        /// The daemon has taken the request and pulls. The request did not wait for the end.
        case started
        /// Nothing is known to be missing now.
        case complete
        /// The pull ended, and something is missing: `problem`, or `prsnlctl status`, says what.
        case incomplete
        case failed
    }

    package var schemaVersion = 1
    package var outcome: Outcome
    /// `null` where the end was not waited for.
    @Nullable package var added: Int? = nil
    @Nullable package var changed: Int? = nil
    @Nullable package var deleted: Int? = nil
    /// Texts that were fetched.
    @Nullable package var texts: Int? = nil
    @Nullable package var problem: ErrorReport? = nil

    package static let started = SyncReport(outcome: .started)

    private init(outcome: Outcome) {
        self.outcome = outcome
    }

    /// The end of a pull that was waited for.
    package init(
        isComplete: Bool, added: Int, changed: Int, deleted: Int, texts: Int = 0, problem: UserFacingError?
    ) {
        self.texts = texts
        self.added = added
        self.changed = changed
        self.deleted = deleted
        self.problem = problem.map(ErrorReport.init)
        outcome =
            switch problem?.code {
            case nil: isComplete ? .complete : .incomplete
            // The pull itself worked; what is missing waits for a person, for a quieter timeline, or without an end.
            case .deletionsHeld, .deletionUndecided, .timelineUnsettled, .crowdedInstant: .incomplete
            default: .failed
            }
    }

    package var exitCode: ExitCode {
        switch outcome {
        case .started, .complete: .fine
        case .incomplete: .needsAttention
        // A person has to log in; asking again would change nothing.
        case .failed: problem?.knownCode == .needsLogin ? .needsAttention : .error
        }
    }
}

extension SyncReport: Report {
    package func text(_ style: TextStyle) -> String {
        var lines: [String]
        switch outcome {
        case .started: lines = ["Sync started. Follow it with \(style.command("prsnlctl status"))."]
        case .complete: lines = ["\(style.paint("Complete", .green)): \(figures)."]
        case .incomplete:
            lines = [
                "\(style.paint("Incomplete", .yellow)): \(figures). \(style.command("prsnlctl status")) names what is missing."
            ]
        case .failed: lines = ["\(style.paint("Failed", .red)): \(figures)."]
        }
        if let problem {
            lines += problem.lines(style)
        }
        return paragraphs(lines, style)
    }

    private var figures: String {
        var parts = [(added, "added"), (changed, "changed"), (deleted, "deleted")].compactMap { number, word in
            number.map { "\(Figures.count($0)) \(word)" }
        }
        if let texts, texts > 0 { parts.append(Figures.count(texts, "text")) }
        return parts.joined(separator: ", ")
    }
}
