package import Console
package import Control
package import PRSNLCore
package import Store
import SyncEngine

/// Asks the daemon to pull now.
package struct SyncNowRequest: Request {
    package typealias Update = Progress
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
    package var place: RequestPlace { .daemon }
    /// A pull takes as long as it takes; the connection ends with the daemon.
    package var patience: Duration? { wait ? nil : .seconds(10) }

    /// Between two lines of progress.
    private static let progressInterval: Duration = .milliseconds(200)

    package init(full: Bool, wait: Bool, acceptDeletions: Bool, texts: Bool = false, text: String? = nil) {
        (self.full, self.wait, self.acceptDeletions) = (full, wait, acceptDeletions)
        (self.texts, self.text) = (texts, text)
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

    /// The pull belongs to the daemon: it goes on when the client that asked for it leaves.
    package func answer(_ context: RequestContext) async throws(UserFacingError) -> SyncResult? {
        let daemon = try context.requireDaemon()
        let engine = daemon.parts.engine
        if texts, !engine.state.copiesTexts {
            throw UserFacingError(
                .usage, "The daemon copies no texts: its configuration has texts = no.",
                recoverySuggestion: "Set texts = yes, then `systemctl reload prsnld`.")
        }
        var textOf: String?
        if let text { textOf = try context.reader().itemID(text) }
        let follows = text == nil && engine.state.activity == .pulling
        let order = SyncRequest(full: full, acceptDeletions: acceptDeletions, texts: texts, textOf: textOf)
        let pull = Task(executorPreference: TaskLoop.current) {
            var result = await engine.sync(order)
            result.followed = follows
            return result
        }
        guard wait else { return SyncResult(followed: follows) }
        return await withTaskGroup(of: Void.self) { group in
            group.addTask { await Self.showProgress(engine, context) }
            let result = await pull.value
            group.cancelAll()
            return result
        }
    }

    private static func showProgress(_ engine: SyncEngine, _ context: RequestContext) async {
        var last: Progress?
        while !Task.isCancelled {
            let progress = engine.state.pull
            if let progress, progress != last { context.send(progress) }
            last = progress
            // Cancelled: the pull is over, or the client has left.
            do { try await context.time.sleep(progressInterval) } catch { return }
        }
    }
}

extension Progress: ControlReply { package static let type = "progress" }

extension SyncResult: ControlReply {
    package static let type = "sync"

    package var exitCode: ExitCode {
        switch outcome {
        case .started, .complete: .fine
        case .incomplete: .needsAttention
        // A person has to log in; asking again would change nothing.
        case .failed: problem?.code == .needsLogin ? .needsAttention : .error
        }
    }

    /// `12 added, 3 changed, 0 deleted, 5 texts`
    package var amounts: String {
        var parts = [(added, "added"), (changed, "changed"), (deleted, "deleted")].compactMap { number, word in
            number.map { "\(Formatting.count($0)) \(word)" }
        }
        if let texts, texts > 0 { parts.append(Formatting.count(texts, "text")) }
        return parts.joined(separator: ", ")
    }
}

/// Asks for a comparison of the server's list with the file.
package struct VerifyRequest: Request {
    package typealias Update = Progress
    package static let command = "verify"
    package static let asksServer = true

    /// As `VerifiedTexts` has it.
    package let texts: String
    /// It asks the server as often as a sweep does.
    package var isChange: Bool { true }
    package var place: RequestPlace { .daemon }
    package var patience: Duration? { nil }

    package init(texts: String) { self.texts = texts }
    package init(_ members: RequestMembers) throws(RequestRefusal) { texts = try members.text("texts") ?? "none" }
    package func write(to line: inout RequestLine) { line.add("texts", texts) }

    package func answer(_ context: RequestContext) async throws(UserFacingError) -> VerifyReport? {
        let daemon = try context.requireDaemon()
        guard let texts = VerifiedTexts(texts, at: context.now) else {
            throw UserFacingError(.usage, "There is no such part of the texts.")
        }
        guard !daemon.isVerifying.exchange(true, ordering: .relaxed) else {
            throw UserFacingError(
                .daemonBusy, "Another verification is under way.", consequence: "Nothing was compared.")
        }
        defer { daemon.isVerifying.store(false, ordering: .relaxed) }
        let report = try await daemon.parts.engine.verify(texts) { context.send($0) }
        let last = LastVerification(
            at: report.to, differences: report.onlyThere + report.onlyHere + report.differing + report.skipped,
            epoch: report.epoch)
        // Who may read the copy may read it, too.
        let path = LastVerification.path(beside: daemon.database)
        if let reason = WholeFile.replace(path, by: last.text, mode: 0o640) {
            throw UserFacingError(.diskError, "\(path) cannot be replaced: \(reason).")
        }
        return report
    }
}

extension VerifyReport: ControlReply { package static let type = "verify" }

/// Builds the full-text index again: the daemon does it in the background, and prsnlctl at once where none runs.
package struct RebuildIndexRequest: Request, BareRequest {
    package static let command = "rebuild_index"
    package var isChange: Bool { true }
    package init() {}

    package func answer(_ context: RequestContext) async throws(UserFacingError) -> RebuildIndexReport? {
        guard context.engine?.keepsSearchIndex ?? true else {
            throw UserFacingError(
                .usage, "The daemon keeps no index: its configuration has search_index = no.",
                consequence: "Nothing was changed.",
                recoverySuggestion: "Set search_index = yes, then `systemctl reload prsnld`.")
        }
        return try await context.withStore(isChange: false) { store throws(UserFacingError) in
            try await store.rebuildIndex()
            if context.daemon != nil {
                store.committed.signal()
            } else {
                while try await store.indexSome(now: context.now, uptime: context.time.uptime) {}
            }
            return RebuildIndexReport(notIndexed: try await store.searchState().notIndexed)
        }
    }

    package func remark(_ answer: RebuildIndexReport, path: String) -> String? { Remark.change(true, path: path) }
}

package struct RebuildIndexReport: ControlReply {
    package static let type = "rebuild_index"

    package var schemaVersion = 1
    package var notIndexed: Int
}
