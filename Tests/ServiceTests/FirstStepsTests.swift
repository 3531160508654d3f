import Commands
import Console
import Control
import DevServer
import Glibc
import PRSNLCore
import Requests
import TestSupport
import Testing

/// What README and docs/guide.md promise to beginners.
@Suite(.enabled(if: Machine.isToBeUsed, "machines of a test's own need root")) struct FirstStepsTests {
    private func login(_ scene: ServiceScene) -> [String] {
        ["prsnlctl", "login", "--server", scene.server.url, "--email", DevAccount.owner.email, "--password-stdin"]
    }

    @Test func threeCommandsLeadToTheFirstData() async throws {
        // The first one: the package is installed.
        try await ServiceScene.onInstalledMachine(usesApt: true) { machine in
            let scene = try ServiceScene(machine)
            defer { scene.server.stop() }
            let said = try await machine.must(login(scene), input: DevAccount.owner.password + "\n")
            #expect(said.contains(DevAccount.owner.email), "\(said)")
            try await scene.startComplete()

            // The login is the daemon's alone, and named nowhere.
            let file = ServiceScene.database + ".login"
            #expect(try await machine.must("stat", "--format=%a %U:%G", file) == "600 prsnld:prsnld")
            let journal = try await machine.must("journalctl", "--no-pager", "--output=export")
            #expect(!journal.contains(DevAccount.owner.password))
            let doctor = try await machine.run("prsnlctl", "doctor", "--json")
            let report = try JSONOutput.decode(DoctorReport.self, from: Array(doctor.stdout.utf8))
            #expect(report.findings.allSatisfy { $0.level != .failed }, "\(doctor.stdout)")

            // The daemon takes one while it runs, too, and forgets it.
            try await machine.must("prsnlctl", "logout")
            #expect(!TestFile.exists(machine.path(file)))
            try await machine.must(login(scene), input: DevAccount.owner.password + "\n")
            try await machine.must("prsnlctl", "whoami")
            scene.server.addNew()
            try await machine.must("prsnlctl", "sync", "--wait")
            try await scene.waitUntilComplete()
        }
    }

    @Test func theWrongPasswordChangesNothing() async throws {
        try await ServiceScene.onInstalledMachine { machine in
            let scene = try ServiceScene(machine)
            defer { scene.server.stop() }
            let ran = try await machine.run(login(scene), input: "not-the-password\n")
            #expect(ran.exit != .status(0) && !ran.stderr.contains("not-the-password"), "\(ran)")
            #expect(!TestFile.exists(machine.path(ServiceScene.database + ".login")))
            #expect(!(try TestFile.text(machine.path(ServiceScene.configuration)).contains(scene.server.url)))
        }
    }

    /// As docs/guide.md has it: the login before the first start, by root.
    @Test func anotherAccountHasAnInstance() async throws {
        try await ServiceScene.onInstalledMachine { machine in
            let scene = try ServiceScene(machine)
            defer { scene.server.stop() }
            // Also where an administrator has tidied up.
            try await machine.must("rmdir", "/var/lib/prsnld-instances")
            try await machine.write("server_url = \(scene.server.url)\n", to: "/etc/prsnld/work.conf")
            try await machine.must(
                "prsnlctl", "--instance", "work", "login", "--email", DevAccount.owner.email, "--password-stdin",
                input: DevAccount.owner.password + "\n")
            try await machine.must("systemctl", "enable", "--now", "prsnld@work")
            try await eventually("a complete copy") {
                try await machine.property("StatusText", of: "prsnld@work").hasPrefix("online, 40 items, complete")
            }
            let listing = try await machine.must(
                "stat", "--format=%a %U:%G", "/var/lib/prsnld-instances", "/var/lib/prsnld-instances/work",
                "/var/lib/prsnld-instances/work/prsnl.sqlite", "/var/lib/prsnld-instances/work/prsnl.sqlite.login")
            #expect(listing == "755 root:root\n750 prsnld:prsnld\n640 prsnld:prsnld\n600 prsnld:prsnld")

            // It comes back with the package, too.
            try await machine.must("apt-get", "-q", "-y", "remove", "prsnld")
            #expect(try await machine.run("pgrep", "-x", "prsnld").exit == .status(1))
            try await machine.install(try await DebianPackage.current.value)
            #expect(try await machine.property("ActiveState", of: "prsnld@work") == "active")
            #expect(try await machine.property("ActiveState") == "inactive")
        }
    }

    @Test func aLoginMakesTheConfigurationOfANewInstance() async throws {
        try await ServiceScene.onInstalledMachine { machine in
            let scene = try ServiceScene(machine)
            defer { scene.server.stop() }
            try await machine.must("useradd", "--no-create-home", "other")
            let file = "/etc/prsnld/new.conf"
            let command = login(scene).joined(separator: " ").replacing("prsnlctl", with: "prsnlctl --instance new")
            let password = DevAccount.owner.password + "\n"
            let refused = try await machine.run(["sh", "-c", command], as: .named("other"), input: password)
            #expect(refused.exit == .status(1), "\(refused)")
            let next = refused.stderr.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            #expect(next.contains("prsnlctl --instance new login --server"), "\(refused)")
            // A login that fails makes nothing.
            let wrong = try await machine.run(["sh", "-c", command], input: "not-the-password\n")
            #expect(wrong.exit == .status(1) && !TestFile.exists(machine.path(file)), "\(wrong)")
            let unknown = try await machine.run("prsnlctl", "--instance", "new", "status")
            #expect(
                unknown.exit == .status(1)
                    && unknown.stderr.contains("next: prsnlctl --instance new login --server URL"), "\(unknown)")

            // Readable for the daemon whatever the person's umask is.
            let made = try await machine.run(["sh", "-c", "umask 077 && " + command], input: password)
            #expect(made.exit == .status(0) && made.stderr.contains("made \(file) (owner root, mode 0644)"), "\(made)")
            #expect(made.stdout.contains("systemctl start prsnld@new"), "\(made)")
            #expect(try await machine.must("stat", "--format=%a %U:%G", file) == "644 root:root")
            #expect(try TestFile.text(machine.path(file)) == "server_url = \(scene.server.url)\n")
            try await machine.must("systemctl", "enable", "--now", "prsnld@new")
            try await eventually("a complete copy") {
                try await machine.property("StatusText", of: "prsnld@new").hasPrefix("online, 40 items, complete")
            }

            // An existing one is not overwritten.
            let elsewhere = try await machine.run(
                ["prsnlctl", "--instance", "new", "login", "--server", "http://127.0.0.1:9", "--email", "a@b"])
            #expect(elsewhere.exit == .status(1), "\(elsewhere)")
            #expect(try TestFile.text(machine.path(file)) == "server_url = \(scene.server.url)\n")
        }
    }

    @Test func aPersonChecksWhatAServiceWouldUse() async throws {
        try await ServiceScene.onInstalledMachine { machine in
            try await machine.must("useradd", "--no-create-home", "other")
            try await machine.write("server_url = https://a.example\n", to: ServiceScene.configuration)
            try await machine.write(
                "server_url = https://b.example\napi_key_file = /etc/prsnld/work.key\n", to: "/etc/prsnld/work.conf")
            try await machine.write("not-a-real-key-of-work\n", to: "/etc/prsnld/work.key", mode: 0o600)
            func check(_ view: String..., as user: Machine.User = .root) async throws -> Machine.Ran {
                try await machine.run(
                    ["prsnld", "--check-config"] + view, as: user,
                    // Of the person's own, and nothing to a service.
                    environment: ["PRSNL_POLL_INTERVAL": "7s", "XDG_STATE_HOME": "/srv", "XDG_RUNTIME_DIR": "/srv"])
            }
            let machines = try await check("--service")
            #expect(machines.exit == .status(0), "\(machines)")
            for value in [
                "https://a.example", "/var/lib/prsnld/prsnl.sqlite", "/run/prsnld/control.sock", "5m", "log in first",
            ] { #expect(machines.stdout.contains(value), "\(value) in \(machines)") }

            // Root could read this key, and the daemon cannot.
            let work = try await check("--instance", "work")
            #expect(work.exit == .status(78) && work.stderr.contains("/etc/prsnld/work.key"), "\(work)")
            try await machine.must("chown", "prsnld:", "/etc/prsnld/work.key")
            let mended = try await check("--instance", "work")
            #expect(mended.exit == .status(0) && mended.stdout.contains("api_key_file holds an API key"), "\(mended)")
            #expect(mended.stdout.contains("/var/lib/prsnld-instances/work/prsnl.sqlite"), "\(mended)")
            #expect(mended.stdout.contains("/run/prsnld-instances/work/control.sock"), "\(mended)")

            // What systemd reads as root is looked at as root.
            try await machine.write("not-a-real-key\n", to: "/etc/credstore/prsnld.api-key", mode: 0o600)
            let handed = try await check("--service")
            #expect(
                handed.stdout.contains("systemd hands over the API key in /etc/credstore/prsnld.api-key"), "\(handed)")
            let other = try await check("--service", as: .named("other"))
            #expect(other.exit == .status(0) && other.stdout.contains("not checked: the credentials"), "\(other)")
            #expect(!(handed.stdout + mended.stdout + other.stdout).contains("not-a-real-key"))
        }
    }

    @Test func aKeyInTheCredentialStoreIsSeenWhileTheDaemonIsStopped() async throws {
        try await ServiceScene.onInstalledMachine { machine in
            let scene = try ServiceScene(machine)
            defer { scene.server.stop() }
            let key = "/etc/credstore/prsnld.api-key"
            try await machine.write("not-a-real-key\n", to: key, mode: 0o600)
            let refused = try await machine.run(login(scene), input: DevAccount.owner.password + "\n")
            #expect(refused.exit == .status(1) && refused.stderr.contains(key), "\(refused)")
            let whoami = try await machine.run("prsnlctl", "whoami", "--json")
            let report = try JSONOutput.decode(WhoamiReport.self, from: Array(whoami.stdout.utf8))
            #expect(report.credentials.kind == .apiKey && report.credentials.path == key, "\(whoami)")
            let doctor = try await machine.run("prsnlctl", "doctor", "--json")
            let findings = try JSONOutput.decode(DoctorReport.self, from: Array(doctor.stdout.utf8)).findings
            #expect(findings.filter { $0.group == .credentials }.map(\.level) == [.ok], "\(findings)")
            #expect(!(refused.stderr + whoami.stdout + doctor.stdout).contains("not-a-real-key"))
        }
    }

    @Test func theDoctorInventsNoKeyAndCallsADaemonThatHangsAFailure() async throws {
        try await ServiceScene.onInstalledMachine { machine in
            let scene = try ServiceScene(machine)
            defer { scene.server.stop() }
            try await machine.must("useradd", "--no-create-home", "--groups", "prsnld", "member")
            try await machine.must(login(scene), input: DevAccount.owner.password + "\n")
            try await scene.startComplete()
            func doctor(as user: Machine.User) async throws -> [DoctorReport.Finding] {
                let ran = try await machine.run("prsnlctl", "doctor", "--json", as: user)
                return try JSONOutput.decode(DoctorReport.self, from: Array(ran.stdout.utf8)).findings
            }
            // systemd has a folder for the credentials of the unit, which only root and the daemon may look into.
            let seen = try await doctor(as: .named("member"))
            #expect(seen.allSatisfy { $0.check != "key_file" }, "\(seen)")
            #expect(seen.allSatisfy { $0.group != .credentials || $0.level == .notChecked }, "\(seen)")

            try await machine.must("systemctl", "kill", "--signal=STOP", ServiceScene.unit)
            let hung = try await doctor(as: .root).first { $0.check == "daemon" }
            #expect(hung?.level == .failed && hung?.nextCommand == "systemctl restart prsnld", "\(hung as Any)")
            try await machine.must("systemctl", "kill", "--signal=CONT", ServiceScene.unit)
        }
    }

    /// By a systemd of the person's own.
    @Test func aPersonRunsACopyForThemselves() async throws {
        try await ServiceScene.onInstalledMachine { machine in
            let scene = try ServiceScene(machine)
            defer { scene.server.stop() }
            try await machine.must("useradd", "--create-home", "alone")
            let number = try await machine.must("id", "-u", "alone")
            try await machine.must("loginctl", "enable-linger", "alone")
            try await machine.must("systemctl", "start", "user@\(number).service")
            func alone(_ command: [String], input: String = "") async throws -> Machine.Ran {
                try await machine.run(
                    command, as: .named("alone"),
                    environment: ["HOME": "/home/alone", "XDG_RUNTIME_DIR": "/run/user/\(number)"], input: input)
            }
            func alone(_ command: String...) async throws -> Machine.Ran { try await alone(command) }
            // The machine's own copy is there, and another person's: it stays out of this, also where it can be reached.
            try await scene.configure()
            try await scene.startComplete()
            try await machine.must("usermod", "--append", "--groups", "prsnld", "alone")
            let before = try TestFile.text(machine.path(ServiceScene.configuration))
            let own = try ServiceScene(machine, items: 25)
            defer { own.server.stop() }
            let login = try await alone(
                [
                    "prsnlctl", "login", "--server", own.server.url, "--email", DevAccount.owner.email,
                    "--password-stdin",
                ], input: DevAccount.owner.password + "\n")
            #expect(login.exit == .status(0), "\(login)")
            #expect(login.stdout.contains("systemctl --user start prsnld"))
            #expect(login.stdout.contains("server_url was written to /home/alone/.config/prsnld/prsnld.conf"))
            #expect(try TestFile.text(machine.path(ServiceScene.configuration)) == before)
            #expect(!TestFile.exists(machine.path(ServiceScene.database + ".login")))
            // Nor is it led there later, while their own is stopped.
            let stopped = try await alone("prsnlctl", "note", "mine")
            #expect(stopped.exit != .status(0) && stopped.stderr.contains("/home/alone/"), "\(stopped)")

            let start = try await alone("systemctl", "--user", "enable", "--now", "prsnld")
            #expect(start.exit == .status(0), "\(start)")
            try await eventually("a complete copy") {
                try await alone("systemctl", "--user", "show", "--value", "--property=StatusText", "prsnld").stdout
                    .hasPrefix("online, 25 items, complete")
            }
            let status = try await alone("prsnlctl", "status", "--json")
            let report = try JSONOutput.decode(StatusReport.self, from: Array(status.stdout.utf8))
            #expect(report.source == .daemon && report.copy.live == 25, "\(status)")
            let modes = try await machine.must(
                "stat", "--format=%a %U", "/home/alone/.local/state/prsnld",
                "/home/alone/.local/state/prsnld/prsnl.sqlite")
            #expect(modes.split(separator: "\n").allSatisfy { $0.hasSuffix("0 alone") || $0.hasSuffix("00 alone") })
            let reload = try await alone("systemctl", "--user", "reload", "prsnld")
            #expect(reload.exit == .status(0), "\(reload)")
            try await machine.must("sh", "-c", "echo log_level = loud >>/home/alone/.config/prsnld/prsnld.conf")
            let wrong = try await alone("systemctl", "--user", "reload", "prsnld")
            #expect(wrong.exit != .status(0), "\(wrong)")
            let still = try await alone("systemctl", "--user", "is-active", "prsnld")
            #expect(still.stdout == "active\n", "\(still)")
            let stop = try await alone("systemctl", "--user", "stop", "prsnld")
            #expect(stop.exit == .status(0), "\(stop)")
        }
    }
}
