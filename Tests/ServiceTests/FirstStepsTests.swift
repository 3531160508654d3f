import Control
import DevServer
import Glibc
import PRSNLCore
import TestSupport
import Testing

/// What the README promises to somebody who begins.
@Suite(.enabled(if: Machine.isToBeUsed, "machines of a test's own need root")) struct FirstStepsTests {
    private func login(_ scene: ServiceScene) -> [String] {
        ["prsnlctl", "login", "--server", scene.server.url, "--email", DevAccount.owner.email, "--password-stdin"]
    }

    @Test func threeCommandsLeadToTheFirstData() async throws {
        // The first one: the package is installed.
        try await ServiceScene.onInstalledMachine { machine in
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
            #expect(hung?.level == .failed && hung?.nextCommand == "sudo systemctl restart prsnld", "\(hung as Any)")
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
            // Beside the machine's configuration, which names no server.
            let logged = try await alone(login(scene), input: DevAccount.owner.password + "\n")
            #expect(logged.exit == .status(0) && logged.stdout.contains("systemctl --user start prsnld"), "\(logged)")
            #expect(TestFile.exists(machine.path("/home/alone/.config/prsnld/prsnld.conf")))
            #expect(!(try TestFile.text(machine.path(ServiceScene.configuration)).contains(scene.server.url)))
            let start = try await alone("systemctl", "--user", "start", "prsnld")
            #expect(start.exit == .status(0), "\(start)")
            try await eventually("a complete copy") {
                try await alone("systemctl", "--user", "show", "--value", "--property=StatusText", "prsnld").stdout
                    .hasPrefix("online, 40 items, complete")
            }
            let status = try await alone("prsnlctl", "status", "--json")
            let report = try JSONOutput.decode(StatusReport.self, from: Array(status.stdout.utf8))
            #expect(report.source == .daemon && report.copy.live == 40, "\(status)")
            let modes = try await machine.must(
                "stat", "--format=%a %U", "/home/alone/.local/state/prsnld",
                "/home/alone/.local/state/prsnld/prsnl.sqlite")
            #expect(modes.split(separator: "\n").allSatisfy { $0.hasSuffix("0 alone") || $0.hasSuffix("00 alone") })
            let stop = try await alone("systemctl", "--user", "stop", "prsnld")
            #expect(stop.exit == .status(0), "\(stop)")
        }
    }
}
