import DevServer
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
}

/// The database at one moment, as the kernel would keep it if the process were killed then.
final class FileSnapshot: Sendable {
    private let path: String
    private let files = Mutex<[String: [UInt8]]?>(nil)

    init(_ path: String) { self.path = path }

    var isTaken: Bool { files.withLock { $0 != nil } }

    /// Call while nothing is being written. Only the first time counts.
    func take() {
        files.withLock { files in
            guard files == nil else { return }
            var taken: [String: [UInt8]] = [:]
            for name in [path, path + "-wal", path + ".mark"] where TestFile.exists(name) {
                do { taken[name] = try TestFile.read(name) } catch { print("\(name): \(error)") }
            }
            files = taken
        }
    }

    /// Puts it in place of what the process has made of it since. The mark stays the file that it is: no backup was restored.
    func restore() throws {
        for name in [path, path + "-wal", path + "-shm"] where TestFile.exists(name) { try TestFile.remove(name) }
        let taken = files.withLock { $0 } ?? [:]
        for (name, bytes) in taken { try TestFile.write(bytes, to: name) }
    }
}
