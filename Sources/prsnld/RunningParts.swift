import Configuration
import Console
import Control
import NetMonitor
import PRSNLClient
import PRSNLCore
import Requests
import Store
import SyncEngine

// The parts of a running daemon, wired: started in order, stopped in reverse.
extension RunningParts {
    /// Opens the file and takes its lock before anything is asked of the server.
    static func start(
        _ loaded: LoadedConfiguration, _ setup: Setup, log: @escaping LogHandler
    ) async throws(UserFacingError) -> RunningParts {
        let configuration = loaded.configuration
        let server = try setup.server(configuration)
        let file = LoginFile(database: configuration.database)
        // What cannot be used is said before anything is made.
        _ = try FoundCredentials(configuration, setup.environment, server: server)
        let folder = Descriptors.folder(of: configuration.database)
        if let reason = Folder.make(folder) {
            throw UserFacingError(
                .databaseReadOnly, "The folder \(folder) for the database cannot be made: \(reason).")
        }
        let store = try Store(
            path: configuration.database, waitsForLock: true, largestSize: configuration.maximumDatabaseSize,
            allowsNetwork: configuration.allowsNetworkFileSystem,
            isCancelled: { setup.signals.wasTold.load(ordering: .acquiring) }, log: log)
        await store.announce(socket: configuration.controlSocket)
        let time = setup.time
        do throws(UserFacingError) {
            // Only with the lock: before it, another process may be writing there.
            try file.cleanUp()
            let found = try FoundCredentials(configuration, setup.environment, server: server)
            for warning in found.warnings { log(.warning, .config, warning) }
            let storage = LoginStorage(file, of: found)
            let figures = RequestMetrics()
            let client = try PRSNLClient(
                configuration: ClientConfiguration(
                    serverURL: server.text, credentials: found.credentials, network: configuration.network,
                    userAgent: "prsnld/\(ProductVersion.current)"),
                time: time, usage: { figures.note($0) },
                savePair: { new, old throws(UserFacingError) in
                    do throws(UserFacingError) { try storage.save(new, replacing: old) } catch {
                        await record(error, in: store, at: time.now(), log)
                        throw error
                    }
                }, log: log)
            let engine = SyncEngine(
                store: store, client: client, serverURL: server.text, source: try .kernel(log: log),
                settings: configuration.sync, time: time, log: log)
            let login = LoginKeeper(
                found, environment: setup.environment, server: server, storage: storage, client: client, engine: engine,
                log: log)
            return RunningParts(
                store: store, client: client, engine: engine, login: login, figures: figures, time: time)
        } catch {
            await store.close()
            throw error
        }
    }

    /// For `prsnlctl errors`: the renewed login is used from memory, and lost with the process.
    private static func record(
        _ error: UserFacingError, in store: Store, at time: Timestamp, _ log: LogHandler
    ) async {
        do throws(UserFacingError) {
            try await store.recordError(code: error.code, endpoint: "login", message: error.message, at: time)
        } catch {
            // The same full disk, most likely. The log has what it is about.
            log(.debug, .store, "an error was not recorded: \(error.message)")
        }
    }

    /// After a kill or a power cut, looks in the background whether the file is sound.
    func checkAfterUncleanStop(log: LogHandler) async {
        guard store.wasStoppedUncleanly else { return }
        do {
            let damage = try await StoreReader.damage(path: store.path)
            guard !damage.isEmpty else {
                await store.noteSound()
                return log(.info, .store, "the file was not closed properly the last time; it is sound")
            }
            let error = UserFacingError(
                .databaseDamaged, "The database \(store.path) is damaged: \(damage.joined(separator: "; ")).")
            log(.error, .store, error.inFull)
            try await store.recordError(
                code: error.code, endpoint: "database", message: error.message, at: time.now())
            await store.refuseWrites(error)
        } catch {
            log(.warning, .store, "the file could not be checked: \(error.message)")
        }
    }

    /// So long a renewal of the login may take that is under way: what the two seconds of a stop leave.
    private static let lastRenewal: Duration = .milliseconds(1_500)

    /// After this, nothing of the daemon touches the network or the file.
    func stop() async {
        // The file first: if the server takes too long over the login, the process ends without that, and with the file
        // sound. The lock last: its holder may write the login.
        await store.closeFile()
        await client.finishRenewal(atMost: Self.lastRenewal)
        client.shutdown()
        engine.network.source.stop()
        await store.unlock()
    }
}
