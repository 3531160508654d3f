import DevServer
import PRSNLClient
import PRSNLCore
import TestSupport
import Testing

@testable import Store
@testable import SyncEngine

extension PullFixture {
    /// Accepts writes as `prsnlctl` does while no daemon runs.
    @discardableResult
    func accept(_ drafts: [WriteDraft]) async throws -> [AcceptedWrite] {
        let store = try Store(path: path)
        do {
            let accepted = try await store.accept(drafts, now: time.now).map { acceptance in
                switch acceptance {
                case .accepted(let write): return write
                case .refused(let error): throw error
                }
            }
            await store.close()
            return accepted
        } catch {
            await store.close()
            throw error
        }
    }

    @discardableResult
    func accept(_ draft: WriteDraft) async throws -> AcceptedWrite { try await accept([draft])[0] }

    /// Every entry's state, kind and remark or error, in order.
    func outbox() throws -> [String] {
        try StoreReader(path: path).outbox(.all, limit: 100_000).entries.sorted { $0.id < $1.id }.map { entry in
            (["#\(entry.id)", entry.kind.rawValue, entry.state.rawValue]
                + [entry.errorCode ?? entry.shown.remark].compactMap(\.self))
                .joined(separator: " ")
        }
    }

    func states() throws -> [OutboxEntry.State] {
        try StoreReader(path: path).outbox(.all, limit: 100_000).entries.sorted { $0.id < $1.id }.map(\.state)
    }

    /// What a reader of the timeline sees of titles and what waits.
    func shown() throws -> [String] {
        do {
            let rows = try Connection(path: path, mode: .readOnly).prepare(
                "SELECT coalesce(title, url, content), pending FROM timeline ORDER BY 1")
            var lines: [String] = []
            while try rows.step() { lines.append((rows.text(0) ?? "-") + (rows.text(1).map { " (\($0))" } ?? "")) }
            return lines
        } catch {
            throw error.userFacing(path: path)
        }
    }

    /// Counters against counting, and no change of any item left behind.
    func expectSound(sourceLocation: SourceLocation = #_sourceLocation) throws {
        for invariant in try StoreReader(path: path).check() {
            #expect(invariant.holds, "\(invariant)", sourceLocation: sourceLocation)
        }
    }
}

extension Store {
    func beginSending(_ id: Int64, evidence: SendEvidence?, now: Timestamp) throws -> Bool {
        let task = try read { connection in try OutboxTask.load(id, connection) }
        return try task.map { try beginSending($0, evidence: evidence, now: now) } ?? false
    }
}

extension WriteDraft {
    static func url(_ url: String, title: String? = nil, tags: [String] = [], note: String? = nil) -> WriteDraft {
        .create(NewItem(url: url, title: title, note: note, tags: tags))
    }

    static func note(_ text: String, title: String? = nil, tags: [String] = []) -> WriteDraft {
        .create(NewItem(title: title, note: text, tags: tags))
    }
}
