import Commands
import Glibc
import PRSNLCore
import Store
import TestSupport
import Testing

/// The daemon and the command line, among users of one machine.
@Suite(.enabled(if: OtherUser.canBeMade, "needs root, to be other users"))
struct AccessTests {
    private func total(_ scene: AccessScene) throws -> Int {
        try StoreReader(path: scene.fixture.database).outbox(.all, limit: 1).total
    }

    @Test func rootAndTheDaemonsUserMayChangeThings() async throws {
        let scene = try AccessScene()
        let daemon = try await scene.startReady()
        for user in [nil, scene.owner] {
            #expect(try await scene.control(user, "sync", "--wait").exit == .status(0))
            #expect(try await scene.control(user, "note", "a text").exit == .status(0))
            #expect(try await scene.control(user, "errors", "--clear").exit == .status(0))
        }
        #expect(try total(scene) == 2)
        #expect(try await daemon.terminate() == .status(0))
    }

    @Test func aMemberLooksAndChangesNothingNotEvenInTheFile() async throws {
        let scene = try AccessScene()
        let daemon = try await scene.startReady()
        // The first pull is over then.
        #expect(try await scene.control(nil, "sync", "--wait").exit == .status(0))
        let status = try scene.fixture.decode(
            StatusReport.self, try await scene.control(scene.member, "status", "--json"))
        #expect(status.source == .daemon)
        for command in ["history", "queue", "net", "errors", "ping"] {
            let ended = try await scene.control(scene.member, command)
            #expect(ended.exit == .status(0), "\(command): \(ended)")
        }
        #expect(try await scene.control(scene.member, "retry-queue", "--dry-run").exit == .status(0))
        for command in [
            ["sync", "--json"], ["note", "it's a text", "--json"], ["capture", "https://example.com/", "--json"],
            ["retry-queue", "--json"], ["errors", "--clear", "--json"],
        ] {
            let ended = try await scene.control(scene.member, command)
            #expect(ended.exit == .status(1), "\(command): \(ended)")
            let error = try scene.error(ended)
            #expect(error.codeName == "control_refused")
            #expect(error.recoverySuggestion.description.contains("group_may_write = yes"))
            #expect(error.nextCommand?.line.hasPrefix("sudo prsnlctl --socket ") == true)
            #expect(error.nextCommand?.line.contains(command[0]) == true)
        }
        let piped = try await scene.control(scene.member, "capture", "--stdin", input: "https://example.com/\n")
        #expect(piped.exit == .status(1))
        #expect(piped.stderr.contains("sudo prsnlctl"), "\(piped.stderr)")
        #expect(try total(scene) == 0)
        #expect(try await daemon.terminate() == .status(0))
    }

    @Test func reloadGivesTheGroupTheRightAndTakesItBack() async throws {
        let scene = try AccessScene()
        let daemon = try await scene.startReady()
        #expect(try await scene.control(scene.member, "note", "one").exit == .status(1))
        for (value, exit) in [("yes", Int32(0)), ("no", 1)] {
            try scene.configure("group_may_write = \(value)")
            daemon.signal(SIGHUP)
            _ = try await daemon.waitForErrorLine(containing: "configuration read again: group_may_write = \(value)")
            #expect(try await scene.control(scene.member, "note", "two").exit == .status(exit))
        }
        #expect(try total(scene) == 1)
        #expect(try await daemon.terminate() == .status(0))
    }

    @Test func aStrangerLearnsNothingAndChangesNothing() async throws {
        let scene = try AccessScene()
        let daemon = try await scene.startReady()
        let status = try await scene.control(scene.stranger, "status", "--json")
        #expect(status.exit == .status(1))
        let refusal = try scene.error(status)
        #expect(refusal.codeName == "database_unreadable")
        // Which group may look, where its number has a name.
        #expect(refusal.message == "This user may not look at \(scene.fixture.database).")
        #expect(refusal.nextCommand?.line.hasPrefix("sudo prsnlctl") == true)
        let doctor = try await scene.control(scene.stranger, "doctor")
        #expect(!doctor.stdout.contains("there is no copy"), "\(doctor)")
        #expect(doctor.stdout.contains("may not look into"), "\(doctor)")
        let note = try await scene.control(scene.stranger, "note", "a text", "--json")
        #expect(note.exit == .status(1))
        #expect(try scene.error(note).codeName == "control_refused")
        #expect(try scene.error(note).nextCommand?.line.hasPrefix("sudo prsnlctl") == true)
        #expect(try total(scene) == 0)
        #expect(try await daemon.terminate() == .status(0))
    }

    /// systemd's `PrivateUsers=`: other users' numbers read as 65534 there.
    @Test func underPrivateUsersRootTheDaemonsUserAndTheGroupAreStillKnown() async throws {
        let scene = try AccessScene()
        let daemon = try await scene.startReadyWithPrivateUsers()
        #expect(try await scene.control(nil, "sync", "--wait").exit == .status(0))
        #expect(try await scene.control(scene.owner, "note", "a text").exit == .status(0))
        let status = try scene.fixture.decode(
            StatusReport.self, try await scene.control(scene.member, "status", "--json"))
        #expect(status.source == .daemon)
        #expect(try scene.error(try await scene.control(scene.member, "sync", "--json")).codeName == "control_refused")
        // Whoever gets as far as to connect, and is 65534 and nothing else.
        #expect(chmod(scene.fixture.folder.path, 0o755) == 0 && chmod(scene.fixture.socket, 0o666) == 0)
        let note = try await scene.control(scene.stranger, "note", "a text", "--json")
        #expect(try scene.error(note).codeName == "control_refused")
        #expect(try scene.error(note).message.contains("neither root, nor the daemon's user"))
        #expect(try total(scene) == 1)
        #expect(try await daemon.terminate() == .status(0))
    }
}
