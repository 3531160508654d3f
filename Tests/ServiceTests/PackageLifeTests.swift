import Console
import Control
import Glibc
import PRSNLCore
import TestSupport
import Testing

/// The package from its installation to its end.
@Suite(.enabled(if: Machine.isToBeUsed, "machines of a test's own need root")) struct PackageLifeTests {
    @Test func aFreshInstallationIsEnabledAndSaysHowToGoOn() async throws {
        try await ServiceScene.onInstalledMachine(usesApt: true) { machine in
            #expect(try await machine.must("prsnld", "--version") == "prsnld \(ProductVersion.current)")
            #expect(try await machine.must("systemctl", "is-enabled", ServiceScene.unit) == "enabled")
            // There is nothing that it could be started with.
            #expect(try await machine.property("ActiveState") == "inactive")
            #expect(try await machine.property("NRestarts") == "0")
            let verify = try await machine.run(
                "systemd-analyze", "verify", "prsnld.service", "prsnld@work.service")
            #expect(verify.exit == .status(0) && verify.stderr.isEmpty, "\(verify)")
            #expect(try await machine.must("stat", "--format=%a %U:%G", "/var/lib/prsnld") == "750 prsnld:prsnld")
            // When it is started nevertheless, it says what is missing, once.
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

            // One that was stopped manually stays so.
            try await machine.must("systemctl", "stop", ServiceScene.unit)
            try await machine.must("sh", "-c", "dpkg --install /srv/prsnld_99*.deb")
            #expect(try await machine.property("ActiveState") == "inactive")
        }
    }

    /// One from the sources stands beside the package's, in a place of which systemd knows nothing.
    @Test func makeUninstallStopsWhatItRemovesAndNothingElse() async throws {
        try await ServiceScene.run { scene in
            let machine = scene.machine
            try await scene.startComplete()
            let process = try await machine.mainProcess()
            try await machine.copy(
                try ["prsnld", "prsnlctl", "prsnl-pages"].map { try BuiltProducts.executable($0) }, to: "/srv/built")
            let sources = try await ChildProcess.run(
                "/bin/cp", ["-r", "--"] + ["systemd", "docs", "README.md", "CHANGELOG.md"] + [machine.path("/srv")],
                directory: RepositoryFile.root())
            try #require(sources.exit == .status(0), "\(sources)")
            let make = ["env", "PREFIX=/opt/p", "BINARIES=/srv/built", "/srv/systemd/install"]
            let said = try await machine.must(make + ["install"])
            let next = "systemctl enable --now /opt/p/lib/systemd/system/prsnld.service"
            #expect(said.contains("systemd does not look for units in /opt/p") && said.contains(next), "\(said)")
            // Nothing of it was ever loaded.
            try await machine.must(make + ["uninstall"])
            #expect(!TestFile.exists(machine.path("/opt/p")))
            #expect(try await machine.mainProcess() == process)

            // As it says, and then gone with the rest.
            try await machine.must(make + ["install"])
            try await machine.must("systemctl", "stop", ServiceScene.unit)
            try await machine.must(next.split(separator: " ").map(String.init))
            let path = try await machine.must("readlink", "/proc/\(try await machine.mainProcess())/exe")
            #expect(path == "/opt/p/bin/prsnld")
            try await machine.must(make + ["uninstall"])
            #expect(try await machine.run("pgrep", "-x", "prsnld").exit == .status(1))
            #expect(!TestFile.exists(machine.path("/opt/p")))
            let links = try await machine.must("find", "/etc/systemd/system", "-lname", "/opt/*")
            #expect(links.isEmpty, "\(links)")
        }
    }

    @Test func aPurgeKeepsWritesThatTheServerHasNotGot() async throws {
        try await ServiceScene.run { scene in
            let machine = scene.machine
            try await scene.startComplete()
            // A copy of another account in which nothing waits.
            let clean = "/var/lib/prsnld-instances/clean"
            try await machine.must("systemctl", "stop", ServiceScene.unit)
            try await machine.must("cp", "-a", "/var/lib/prsnld", clean)
            try await scene.start()
            scene.server.refuseConnections()
            try await machine.must("prsnlctl", "note", "not yet on the server")
            try await machine.write("{}", to: ServiceScene.database + ".login", mode: 0o600)

            let purge = try await machine.must("apt-get", "-q", "-y", "purge", "prsnld")
            #expect(purge.contains("prsnld: /var/lib/prsnld is kept"), "\(purge)")
            #expect(purge.contains("sudo rm -r /var/lib/prsnld"), "\(purge)")
            #expect(!purge.contains(clean), "\(purge)")
            for path in [clean, "/var/lib/prsnld-instances", "/etc/prsnld", ServiceScene.database + ".login"] {
                #expect(!TestFile.exists(machine.path(path)), "\(path)")
            }

            // Installed again and logged in, it sends them.
            let current = try await DebianPackage.current.value
            try await machine.install(current)
            try await scene.configure()
            try machine.network.perform { try scene.server.acceptConnections() }
            try await scene.start()
            try await scene.waitFor("the delivery") { $0.outbox?.waiting == 0 && $0.copy.live == 41 }
            #expect(scene.server.captures.map(\.content) == ["not yet on the server"])

            // Without the programs, what has changed since cannot be read.
            try await machine.must("apt-get", "-q", "-y", "remove", "prsnld")
            try await machine.must("touch", ServiceScene.database)
            let changed = try await machine.must("apt-get", "-q", "-y", "purge", "prsnld")
            #expect(changed.contains("prsnld: /var/lib/prsnld is kept"), "\(changed)")
            #expect(TestFile.exists(machine.path(ServiceScene.database)))
        }
    }

    @Test func aRemovalKeepsWhatAPurgeTakesAway() async throws {
        try await ServiceScene.run { scene in
            let machine = scene.machine
            try await scene.startComplete()
            let socket = "prsnld-metrics.socket"
            try await machine.must("systemctl", "enable", "--now", socket)
            try await machine.must("apt-get", "-q", "-y", "remove", "prsnld")
            #expect(try await machine.run("pgrep", "-x", "prsnld").exit == .status(1))
            #expect(try await machine.property("ActiveState", of: socket) == "inactive")
            #expect(!TestFile.exists(machine.path("/usr/bin/prsnld")))
            let count = try await machine.must(
                "sqlite3", "-readonly", ServiceScene.database, "SELECT count(*) FROM timeline")
            #expect(count == "40")
            #expect(TestFile.exists(machine.path(ServiceScene.configuration)))

            // Installed again, it goes on where it was, as it would have without the removal; unless it was disabled.
            let current = try await DebianPackage.current.value
            try await machine.install(current)
            #expect(try await machine.property("ActiveState") == "active")
            #expect(try await machine.property("ActiveState", of: socket) == "active")
            try await scene.waitUntilComplete()
            try await machine.must("apt-get", "-q", "-y", "remove", "prsnld")
            try await machine.must("systemctl", "disable", ServiceScene.unit)
            try await machine.install(current)
            #expect(try await machine.property("ActiveState") == "inactive")
            #expect(try await machine.run("systemctl", "is-enabled", ServiceScene.unit).stdout == "disabled\n")

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
