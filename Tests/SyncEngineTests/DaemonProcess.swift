import DevServer
import Glibc
import PRSNLClient
import PRSNLCore
import Synchronization
import TestSupport

@testable import Store
@testable import SyncEngine

/// What a daemon holds: the lock, the open file, a client and an engine. Can be given up without a word.
final class DaemonProcess {
    let store: Store
    let client: PRSNLClient
    let engine: SyncEngine

    init(_ fixture: PullFixture) throws {
        store = try Store(path: fixture.path)
        let configuration = ClientConfiguration(serverURL: fixture.server.url, credentials: fixture.credentials)
        client = try PRSNLClient(configuration: configuration, time: fixture.time.source, seed: 7)
        engine = SyncEngine(
            store: store, client: client, serverURL: fixture.server.url, time: fixture.time.source, seed: 7)
    }

    func abandon() async {
        client.shutdown()
        await store.close()
    }

    /// Killed while a write is under way, or between two: what was in its file at that moment is all that goes on.
    ///
    /// - Returns: The process after it.
    func crash(_ fixture: PullFixture, applied isApplied: Bool) async throws -> DaemonProcess {
        let snapshot = FileSnapshot(fixture.path)
        fixture.server.removeFaults()
        let fault = fixture.server.script(
            isApplied ? .closeAfterApplying : .closeBeforeAnswering,
            on: .change.and { _ in
                snapshot.take()
                return true
            })
        // The dead send nothing.
        let silence = fixture.server.script(.closeBeforeAnswering, on: .any.and { _ in snapshot.isTaken }, times: .max)
        _ = await engine.runOnce()
        fault.remove()
        silence.remove()
        if !snapshot.isTaken { snapshot.take() }
        await abandon()
        try snapshot.restore()
        return try DaemonProcess(fixture)
    }
}

/// The database at one moment, as the kernel would keep it if the process were killed then.
final class FileSnapshot: Sendable {
    private let path: String
    private let files = Mutex<[String: [UInt8]]?>(nil)
    private let mark = Mutex<String?>(nil)

    init(_ path: String) { self.path = path }

    var isTaken: Bool { files.withLock { $0 != nil } }

    /// Call while nothing is being written. Only the first time counts.
    func take() {
        files.withLock { files in
            guard files == nil else { return }
            var taken: [String: [UInt8]] = [:]
            for name in [path, path + "-wal"] where TestFile.exists(name) {
                do { taken[name] = try TestFile.read(name) } catch { print("\(name): \(error)") }
            }
            files = taken
            mark.withLock { $0 = (try? CopyMark.all(beside: path))?.first?.path }
        }
    }

    /// Puts it in place of what the process has made of it since. The mark stays the file that it is: no backup was restored.
    func restore() throws {
        for name in [path, path + "-wal", path + "-shm"] where TestFile.exists(name) { try TestFile.remove(name) }
        let taken = files.withLock { $0 } ?? [:]
        for (name, bytes) in taken { try TestFile.write(bytes, to: name) }
        guard let then = mark.withLock({ $0 }), let now = try CopyMark.all(beside: path).first?.path else { return }
        _ = rename(now, then)
    }
}
