import Control
import Glibc
import PRSNLCore
import Store

// A daemon that ended with our writes in hand: what became of them is in the file.
extension OutboxDoor {
    enum Fate {
        case written([OutboxEntry])
        case notWritten
        case notKnown
    }

    private static let patience: Duration = .seconds(10)

    /// Looks into the file, after it is certain that the old daemon writes no more: another one answers, or the lock is
    /// free.
    mutating func fate(of drafts: [WriteDraft], since started: Timestamp) -> Fate {
        // One that lives and is slow may write them yet.
        if hasTimedOut { return .notKnown }
        do throws(UserFacingError) {
            guard try oldDaemonIsGone() else { return .notKnown }
            let newest = try StoreReader(path: context.paths.database).outbox(
                .all, limit: ControlRequest.mostListed)
            // One transaction has them all: those that are found were in it.
            let ours = newest.entries.filter { entry in
                // A deletion that waits already is not written again.
                let isNew = entry.acceptedAt >= started || entry.kind == .delete && entry.state.isWaiting
                return isNew && drafts.contains { entry.isMade(of: $0) }
            }
            return ours.isEmpty ? .notWritten : .written(ours.sorted { $0.id < $1.id })
        } catch {
            return .notKnown
        }
    }

    private mutating func oldDaemonIsGone() throws(UserFacingError) -> Bool {
        let end = ContinuousClock.now + Self.patience
        repeat {
            do throws(UserFacingError) {
                var client = try ControlClient(path: context.paths.controlSocket)
                try client.send(.status)
                if case .status = try client.receive() { return true }
            } catch {
                // Nobody there, or one that is ending.
            }
            do throws(UserFacingError) {
                let path = context.paths.database
                try FileOwner.become(ownerOf: path)
                try blocking { () async throws(UserFacingError) in
                    let store = try Store(path: path)
                    await store.close()
                }
                return true
            } catch {
                guard error.code == .databaseLocked else { throw error }
            }
            usleep(100_000)
        } while ContinuousClock.now < end
        return false
    }
}

extension OutboxEntry {
    /// Whether it was accepted from this draft. Repeated tags are removed on the way.
    fileprivate func isMade(of draft: WriteDraft) -> Bool {
        switch (draft, payload) {
        case (.create(let wanted), .create(let made)):
            wanted.url == made.url && wanted.title == made.title && wanted.note == made.note
                && Set(wanted.tags) == Set(made.tags) && wanted.type == made.type
        case (.edit(let item, let wanted), .edit(let made)):
            itemID.hasPrefix(item) && (wanted.title == nil || wanted.title == made.title)
                && (wanted.summary == nil || wanted.summary == made.summary)
                && (wanted.tags == nil || wanted.tags.map(Set.init) == made.tags.map(Set.init))
        // An edit of what was not sent yet changes what is to be sent.
        case (.edit(let item, let wanted), .create(let made)):
            itemID.hasPrefix(item) && wanted.summary == nil && (wanted.title == nil || wanted.title == made.title)
                && (wanted.tags == nil || wanted.tags.map(Set.init) == Set(made.tags))
        case (.delete(let item), .delete): itemID.hasPrefix(item)
        default: false
        }
    }
}
