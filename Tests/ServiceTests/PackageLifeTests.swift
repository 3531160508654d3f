import Control
import Glibc
import PRSNLCore
import TestSupport
import Testing

/// The package from its installation to its end.
@Suite(.enabled(if: Machine.isToBeUsed, "machines of a test's own need root")) struct PackageLifeTests {
    @Test func aFreshInstallationIsEnabledAndSaysHowToGoOn() async throws {
        try await ServiceScene.onInstalledMachine { machine in
            #expect(try await machine.must("prsnld", "--version") == "prsnld \(ProductVersion.current)")
            #expect(try await machine.must("systemctl", "is-enabled", ServiceScene.unit) == "enabled")
            // There is nothing that it could be started with.
            #expect(try await machine.property("ActiveState") == "inactive")
            #expect(try await machine.property("NRestarts") == "0")
            let verify = try await machine.run(
                "systemd-analyze", "verify", "prsnld.service", "prsnld@work.service")
            #expect(verify.exit == .status(0) && verify.stderr.isEmpty, "\(verify)")
            #expect(try await machine.must("stat", "--format=%a %U:%G", "/var/lib/prsnld") == "750 prsnld:prsnld")
            // Started all the same, it says what is missing, once.
            let start = try await machine.run("systemctl", "start", ServiceScene.unit)
            #expect(start.exit != .status(0))
            try await machine.waitFor("failed")
            #expect(try await machine.property("ExecMainStatus") == "78")
            _ = try await machine.waitForJournal(containing: "server_url")
        }
    }

    @Test func anUpgradeKeepsTheCopyAndStartsTheNewProgram() async throws {
        try await ServiceScene.run { scene in
            let machine = scene.machine
            try await scene.startComplete()
            scene.server.refuseConnections()
            try await machine.must("prsnlctl", "note", "written before the upgrade")
            let process = try await machine.mainProcess()

            try await machine.install(try await DebianPackage.newer.value)
            let version = try await machine.must("dpkg-query", "--show", "--showformat=${Version}", "prsnld")
            #expect(version == "99.0.0")
            try await machine.waitForSuccessor(of: process)
            let report = try await scene.waitFor("an answer") { _ in true }
            #expect(report.copy.live == 40 && report.outbox?.waiting == 1)
            #expect(try TestFile.text(machine.path(ServiceScene.configuration)).contains(scene.server.url))
            try machine.network.perform { try scene.server.acceptConnections() }
            try await scene.waitFor("the delivery") { $0.outbox?.waiting == 0 }
            #expect(scene.server.captures.count == 1)

            // One that was stopped by hand stays so.
            try await machine.must("systemctl", "stop", ServiceScene.unit)
            try await machine.must("sh", "-c", "dpkg --install /srv/prsnld_99*.deb")
            #expect(try await machine.property("ActiveState") == "inactive")
        }
    }

    @Test func aRemovalKeepsWhatAPurgeTakesAway() async throws {
        try await ServiceScene.run { scene in
            let machine = scene.machine
            try await scene.startComplete()
            try await machine.must("apt-get", "-q", "-y", "remove", "prsnld")
            #expect(try await machine.run("pgrep", "-x", "prsnld").exit == .status(1))
            #expect(!TestFile.exists(machine.path("/usr/bin/prsnld")))
            let count = try await machine.must(
                "sqlite3", "-readonly", ServiceScene.database, "SELECT count(*) FROM timeline")
            #expect(count == "40")
            #expect(TestFile.exists(machine.path(ServiceScene.configuration)))

            // Installed again and started, it goes on where it was.
            try await machine.install(try await DebianPackage.current.value)
            try await scene.startComplete()

            try await machine.must("apt-get", "-q", "-y", "purge", "prsnld")
            for path in ["/var/lib/prsnld", "/etc/prsnld", "/run/prsnld", "/usr/bin/prsnld", "/usr/bin/prsnlctl"] {
                #expect(!TestFile.exists(machine.path(path)), "\(path)")
            }
            let left = try await machine.must(
                "find", "/etc/systemd", "/usr/lib/systemd", "/usr/lib/sysusers.d", "/usr/lib/tmpfiles.d",
                "/usr/share/man", "/usr/share/doc", "-name", "*prsnl*")
            #expect(left.isEmpty, "\(left)")
        }
    }
}
