import Commands
import Console
import DevServer
import Glibc
import PRSNLCore
import TestSupport
import Testing

/// `prsnld-hook@` under a real systemd, as a person's unit.
@Suite(.enabled(if: Machine.isToBeUsed, "machines of a test's own need root")) struct HookTests {
    private static let home = "/home/alone"
    private static let hooks = "\(home)/.config/prsnld/hooks"

    /// A user whose systemd runs without a session.
    private struct Person {
        let machine: Machine
        let number: String

        init(_ machine: Machine, groups: String...) async throws {
            self.machine = machine
            try await machine.must(["useradd", "--create-home", "--groups", groups.joined(separator: ","), "alone"])
            number = try await machine.must("id", "-u", "alone")
            try await machine.must("loginctl", "enable-linger", "alone")
            try await machine.must("systemctl", "start", "user@\(number).service")
        }

        @discardableResult
        func run(_ command: String..., input: String = "") async throws -> Machine.Ran {
            try await machine.run(
                command, as: .named("alone"),
                environment: ["HOME": home, "XDG_RUNTIME_DIR": "/run/user/\(number)"], input: input)
        }

        func property(_ name: String, of unit: String) async throws -> String {
            let ran = try await run("systemctl", "--user", "show", "--value", "--property=\(name)", unit)
            return String(ran.stdout.prefix { $0 != "\n" })
        }

        func text(_ file: String) -> String { (try? TestFile.text(machine.path("\(home)/\(file)"))) ?? "" }
        func lines(_ file: String) -> [Substring] { text(file).split(separator: "\n") }
        func touch(_ file: String, _ text: String = "") async throws {
            #expect(try await run("tee", "\(home)/\(file)", input: text).exit == .status(0))
        }
    }

    /// In files of the person's home: `left`, how often it is to fail yet; `wait`, while it is to go on; `had`, each line that it
    /// was given; `taken`, those of a run that ended well.
    private static let hook = """
        #!/bin/sh
        cd ~ && cat >batch && cat batch >>had
        while [ -e wait ]; do sleep 0.05; done
        left=$(cat left 2>/dev/null)
        if [ "${left:-0}" -gt 0 ]; then echo $((left - 1)) >left; exit 1; fi
        cat batch >>taken

        """

    private func seqs(_ lines: [Substring]) -> [Int] {
        lines.compactMap { Int($0.dropFirst(#"{"seq":"#.count).prefix { $0.isNumber }) }
    }

    @Test func aHookOfTheMachinesCopyMissesNothingWhateverFailsAndIsKilled() async throws {
        try await ServiceScene.run { scene in
            let machine = scene.machine
            try await scene.startComplete()
            let person = try await Person(machine, groups: "prsnld")
            let unit = "prsnld-hook@take.service"
            try await machine.write(
                "[Service]\nRestartSec=100ms\n", to: "/etc/systemd/user/prsnld-hook@.service.d/test.conf")
            #expect(try await person.run("systemctl", "--user", "daemon-reload").exit == .status(0))
            try await machine.write(Self.hook, to: "\(Self.hooks)/take", mode: 0o755)
            try await machine.must("chown", "-R", "alone:", Self.home)
            func addNew(_ count: Int = 1) async throws {
                for _ in 0..<count { scene.server.addNew() }
                try await machine.must("prsnlctl", "sync", "--wait")
            }
            func systemctl(_ words: String...) async throws {
                let ran = try await machine.run(
                    ["systemctl", "--user"] + words + [unit], as: .named("alone"),
                    environment: ["HOME": Self.home, "XDG_RUNTIME_DIR": "/run/user/\(person.number)"])
                #expect(ran.exit == .status(0), "\(words): \(ran)")
            }
            /// Nothing is missing or out of order among what was taken, and what came twice is the same.
            func expectAll(_ count: Int) async throws {
                try await eventually("\(count) changes to be taken") {
                    Set(person.lines("taken")).count == count
                }
                var seen: [Substring] = []
                for line in person.lines("taken") where !seen.contains(line) { seen.append(line) }
                #expect(seqs(seen) == Array(1...count), "\(person.text("taken"))")
            }

            try await systemctl("enable", "--now")
            try await expectAll(1)
            try await addNew()
            try await expectAll(2)

            // It fails three times with the same batch, and then does not.
            try await systemctl("stop")
            try await addNew(4)
            try await person.touch("left", "3")
            try await systemctl("start")
            try await expectAll(6)
            #expect(person.lines("had").count > 6 + 3 && person.text("left") == "0\n")

            // A kill, while the command runs: the same batch once more.
            try await person.touch("wait")
            try await addNew(2)
            try await eventually("the command to have them") { seqs(person.lines("had")).last == 8 }
            let before = person.lines("had")
            let process = try await person.property("MainPID", of: unit)
            try await systemctl("kill", "--signal=KILL", "--kill-who=main")
            try await eventually("another process with the same batch") {
                let now = try await person.property("MainPID", of: unit)
                return now != process && now != "0" && person.lines("had").count > before.count
            }
            #expect(before.last.map { person.lines("had").dropFirst(before.count).last == $0 } == true)
            #expect(person.lines("taken").count == 6)

            // A stop, while the command runs.
            try await systemctl("stop")
            #expect(try await person.property("Result", of: unit) == "success")
            #expect(try await machine.run("pgrep", "-u", "alone", "-f", "hooks/take").stdout == "")
            try await machine.must("rm", "\(Self.home)/wait")
            try await systemctl("start")
            try await expectAll(8)
            try await systemctl("stop")
            #expect(try await person.property("Result", of: unit) == "success")
            #expect(try await person.run("prsnlctl", "changes", "--failed", "--cursor", "take").stdout == "")
        }
    }

    @Test func aHookOfAPersonsOwnCopyAndOneThatIsNotThere() async throws {
        try await ServiceScene.onInstalledMachine { machine in
            let own = try ServiceScene(machine, items: 25)
            defer { own.server.stop() }
            try await machine.must("groupadd", "others")
            let person = try await Person(machine, groups: "others")
            let login = try await person.run(
                "prsnlctl", "login", "--server", own.server.url, "--email", DevAccount.owner.email, "--password-stdin",
                input: DevAccount.owner.password + "\n")
            #expect(login.exit == .status(0), "\(login)")

            // It says so before there is anything to hand over, and is not started again.
            let missing = "prsnld-hook@none.service"
            try await person.run("systemctl", "--user", "start", missing)
            try await eventually("the unit to fail") {
                try await person.property("ActiveState", of: missing) == "failed"
            }
            #expect(try await person.property("ExecMainStatus", of: missing) == "2")
            #expect(try await person.property("NRestarts", of: missing) == "0")
            try await eventually("the reason in the journal") {
                try await machine.must("journalctl", "--no-pager", "--output=cat", "_SYSTEMD_USER_UNIT=\(missing)")
                    .replacing("\n", with: " ")
                    .contains("The command \(Self.hooks)/none cannot be run: No such file or directory.")
            }

            try await machine.write(Self.hook, to: "\(Self.hooks)/take", mode: 0o755)
            try await machine.must("chown", "-R", "alone:", Self.hooks)
            // Before there is a copy.
            let enable = try await person.run("systemctl", "--user", "enable", "--now", "prsnld-hook@take")
            #expect(enable.exit == .status(0), "\(enable)")
            let start = try await person.run("systemctl", "--user", "enable", "--now", "prsnld")
            #expect(start.exit == .status(0), "\(start)")
            try await eventually("what was pulled") { person.text("taken").contains(#""kind":"pulled""#) }
            let note = try await person.run("prsnlctl", "note", "mine", "--wait")
            #expect(note.exit == .status(0), "\(note)")
            try await eventually("what was written") {
                person.text("taken").contains(#""kind":"added","origin":"here""#)
            }
        }
    }
}
