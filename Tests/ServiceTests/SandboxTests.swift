import Control
import Glibc
import PRSNLCore
import TestSupport
import Testing

/// That the unit's hardening is on, and what it keeps from whom.
@Suite(.enabled(if: Machine.isToBeUsed, "machines of a test's own need root")) struct SandboxTests {
    @Test func theDaemonRunsWithoutRightsAndWorks() async throws {
        try await ServiceScene.run { scene in
            let machine = scene.machine
            try await scene.startComplete()
            let process = try await machine.mainProcess()
            let status = try await machine.must("cat", "/proc/\(process)/status")
            let fields = Dictionary(
                status.split(separator: "\n").compactMap { line -> (String, String)? in
                    let parts = line.split(separator: ":", maxSplits: 1)
                    guard parts.count == 2 else { return nil }
                    return (String(parts[0]), parts[1].split(whereSeparator: \.isWhitespace).joined(separator: " "))
                }, uniquingKeysWith: { first, _ in first })
            #expect(fields["NoNewPrivs"] == "1")
            // A filter of system calls.
            #expect(fields["Seccomp"] == "2")
            for name in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
                #expect(fields[name] == "0000000000000000", "\(name)")
            }
            let user = try await machine.must("id", "-u", "prsnld")
            #expect(fields["Uid"] == "\(user) \(user) \(user) \(user)")

            // Users, mounts: not those of the machine.
            for kind in ["user", "mnt", "ipc"] {
                let own = try await machine.must("readlink", "/proc/\(process)/ns/\(kind)")
                #expect(try await machine.must("readlink", "/proc/1/ns/\(kind)") != own, "\(kind)")
            }
            let limits = try await machine.must("cat", "/proc/\(process)/limits")
            let core = try #require(limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") })
            #expect(core.split(whereSeparator: \.isWhitespace).dropFirst(4).prefix(2) == ["0", "0"], "\(core)")

            // Not dumpable: its memory is root's, and not the user's that it runs as (proc(5)).
            #expect(try await machine.must("stat", "--format=%U", "/proc/\(process)/mem") == "root")
            for file in ["environ", "maps", "mem"] {
                let look = try await machine.run(
                    "head", "-c", "1", "/proc/\(process)/\(file)", as: .named("prsnld"))
                #expect(look.exit != .status(0) && look.stderr.contains("Permission denied"), "\(file): \(look)")
            }

            // And what it needs, it may.
            let net = try await machine.must("prsnlctl", "status", "--json")
            let report = try JSONOutput.decode(StatusReport.self, from: Array(net.utf8))
            #expect(report.daemon?.network?.listening == "netlink", "\(net)")
        }
    }

    @Test func theUnitIsAsLockedDownAsItSays() async throws {
        try await ServiceScene.onInstalledMachine { machine in
            for unit in [ServiceScene.unit, "prsnld@work.service"] {
                // As systemd runs it, and not as it is written.
                let ran = try await machine.run(
                    "systemd-analyze", "security", "--no-pager", "--threshold=11", unit)
                #expect(ran.exit == .status(0), "\(ran.stdout)")
            }
        }
    }

    /// docs/service.md, "Another place for the copy".
    @Test func aCopyElsewhereIsRefusedUntilTheUnitIsTold() async throws {
        try await ServiceScene.run("database = /srv/prsnld/prsnl.sqlite") { scene in
            let machine = scene.machine
            // Of the machine's programs, it needs none to run: kill is for a reload alone.
            try await machine.must("rm", "/bin/kill")
            try await machine.must("install", "-d", "-o", "prsnld", "-g", "prsnld", "-m", "750", "/srv/prsnld")
            try await scene.override("Restart=no")
            #expect(try await machine.run("systemctl", "start", ServiceScene.unit).exit != .status(0))
            _ = try await machine.waitForJournal(containing: "Read-only file system")
            _ = try await machine.waitForJournal(containing: "ReadWritePaths=")
            try await scene.override("ReadWritePaths=/srv/prsnld")
            try await scene.startComplete()
            #expect(TestFile.exists(machine.path("/srv/prsnld/prsnl.sqlite")))
        }
    }

    /// A key that stands nowhere else, as a credential of systemd's.
    @Test func aKeyThatSystemdHandsOverIsUsedAndShownNowhere() async throws {
        try await ServiceScene.run("log_level = debug") { scene in
            let machine = scene.machine
            let key = scene.server.issueToken(lifetime: .seconds(86_400))
            let signature = try #require(key.split(separator: ".").last.map(String.init))
            try await machine.must("rm", "/etc/prsnld/key")
            try await machine.must("sed", "-i", "/^api_key_file/d", ServiceScene.configuration)
            // As README has it.
            try await machine.write(key + "\n", to: "/srv/key", mode: 0o600)
            try await machine.must("install", "-m", "600", "/srv/key", "/etc/credstore/prsnld.api-key")
            try await scene.startComplete()
            try await machine.must("prsnlctl", "sync", "--full", "--wait")

            let process = try await machine.mainProcess()
            for command in [
                ["systemctl", "show", ServiceScene.unit], ["systemctl", "status", "--full", ServiceScene.unit],
                ["journalctl", "--no-pager", "--output=export"],
                ["cat", "/proc/\(process)/cmdline", "/proc/\(process)/environ", "/proc/\(process)/comm"],
                ["prsnlctl", "status", "--json"], ["prsnlctl", "net", "--json"], ["prsnlctl", "history", "--json"],
            ] {
                let ran = try await machine.run(command)
                #expect(ran.exit != .status(1), "\(command): \(ran.stderr)")
                #expect(!ran.stdout.isEmpty && !ran.stdout.contains(signature), "\(command)")
            }
            // And in no file but the one that it was given in.
            let files = try await machine.run(
                "grep", "--recursive", "--files-with-matches", "--fixed-strings", signature, "/var/lib", "/run", "/etc")
            let found = files.stdout.split(separator: "\n")
            #expect(found.contains("/etc/credstore/prsnld.api-key"), "\(found)")
            #expect(
                found.allSatisfy { $0.hasPrefix("/etc/credstore/") || $0.hasPrefix("/run/credentials/") }, "\(found)")
            // Which nobody else reads.
            try await machine.must("useradd", "--no-create-home", "--groups", "prsnld", "member")
            for path in ["/etc/credstore/prsnld.api-key", "/run/credentials/prsnld.service/api-key"] {
                let look = try await machine.run("cat", path, as: .named("member"))
                #expect(look.exit != .status(0) && look.stdout.isEmpty, "\(look)")
            }
        }
    }
}
