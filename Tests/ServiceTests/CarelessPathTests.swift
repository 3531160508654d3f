import DevServer
import Glibc
import PRSNLCore
import TestSupport
import Testing

/// What a careless person sees, in the wrong order and with typing errors: docs/first-steps.md is the transcript, and this
/// types it again.
@Suite(.enabled(if: Machine.isToBeUsed, "machines of a test's own need root")) struct CarelessPathTests {
    /// One command of the transcript.
    private struct Step {
        var words: String
        var user = Machine.User.root
        var input = ""
        /// What happens before it, in the words of the transcript.
        var remark: String?
        var before: @Sendable (ServiceScene) async throws -> Void = { _ in }
    }

    private static let stranger = Machine.User.named("ada")
    private static let password = DevAccount.owner.password
    private static let login = "prsnlctl login --email \(DevAccount.owner.email) --password-stdin --server"

    private static let steps: [Step] = [
        Step(words: "systemctl start prsnld", remark: "The daemon is started before the first login."),
        Step(
            words: "journalctl _SYSTEMD_UNIT=prsnld.service --output=cat --no-pager", remark: "Its log has the reason."),
        Step(words: "prsnlctl status"),
        Step(words: "prsnlctl status", user: stranger, remark: "A user who is not in the group looks."),
        Step(words: "\(login) htp://SERVER", input: "x\n", remark: "The address is misspelt, in three ways."),
        Step(words: "\(login) https://prsnl.exmaple.org", input: "x\n"),
        Step(words: "\(login) http://SERVER/prsnl", input: "x\n"),
        Step(
            words: "\(login) http://SERVER", input: password + "\n", remark: "The server does not run.",
            before: { $0.server.refuseConnections() }),
        Step(
            words: "\(login) http://SERVER", input: "not the password\n", remark: "The password is wrong.",
            before: { try $0.comeBack() }),
        Step(words: "\(login) http://SERVER", input: password + "\n", remark: "And now it is right."),
        Step(words: "systemctl start prsnld"),
        Step(
            words: "prsnlctl status", remark: "A moment later the copy is there.",
            before: { try await $0.waitUntilComplete() }),
        Step(words: "usermod -aG prsnld ada", remark: "The stranger becomes a member of the group."),
        Step(words: "prsnlctl whoami", user: stranger),
        Step(
            words: "sqlite3 -readonly \(ServiceScene.database) 'SELECT count(*) FROM timeline'", user: stranger),
        Step(words: "prsnlctl note 'Something to keep'", user: stranger, remark: "Members look; they do not write."),
        Step(words: "prsnlctl nte 'Something to keep'"),
        Step(words: "prsnlctl note 'Something to keep' --wait 5m"),
        Step(words: "prsnlctl note 'Something to keep' --wait=5m"),
        Step(words: "prsnlctl delete 1", remark: "A number of the queue is no item."),
        Step(
            words: "prsnlctl note 'Written on a train' --wait=1s", remark: "The network is gone.",
            before: { scene in
                scene.server.refuseConnections()
                _ = try await scene.machine.run("prsnlctl", "ping")
            }),
        Step(words: "prsnlctl queue"),
        Step(
            words: "prsnlctl queue", remark: "It is back.",
            before: { scene in
                try scene.comeBack()
                _ = try await scene.machine.run("prsnlctl", "ping")
                try await eventually("the note") { scene.server.captures.count == 2 }
                // What doctor says is then the same each time.
                try await scene.waitFor("an empty queue, and its note with its text") {
                    $0.outbox?.waiting == 0 && $0.copy.live == 42 && $0.copy.texts?.missing == 0
                }
            }),
        Step(words: "prsnlctl doctor"),
    ]

    @Test func theTranscriptInTheDocsIsWhatACarelessPersonSees() async throws {
        let page = "docs/first-steps.md"
        try await ServiceScene.onInstalledMachine { machine in
            let scene = try ServiceScene(machine)
            defer { scene.server.stop() }
            try await machine.must("useradd", "--create-home", "ada")
            // Without one, prsnlctl would advise su.
            try await machine.must("ln", "-sf", "/bin/true", "/usr/bin/sudo")
            var transcript = ""
            for step in Self.steps {
                if let remark = step.remark { transcript += "\n\(remark)\n\n" }
                do { try await step.before(scene) } catch { throw WaitedInVain("\(error); after\n\(transcript)") }
                transcript += try await Self.play(step, scene)
            }
            let text = try RepositoryFile.text(page)
            let marks = ("<!-- begin: checked by CarelessPathTests -->\n", "<!-- end -->\n")
            let begin = try #require(text.firstRange(of: marks.0)?.upperBound)
            let end = try #require(text.firstRange(of: marks.1)?.lowerBound)
            if getenv("PRSNL_WRITE_PAGES") != nil {
                try RepositoryFile.write(String(text[..<begin]) + transcript + "\n" + String(text[end...]), to: page)
                return
            }
            let known = text[begin..<end].split(separator: "\n", omittingEmptySubsequences: false)
            let seen = (transcript + "\n").split(separator: "\n", omittingEmptySubsequences: false)
            for (number, (left, right)) in zip(known, seen).enumerated() {
                try #require(left == right, "line \(number) of the transcript")
            }
            #expect(known.count == seen.count)
        }
    }

    private static func play(_ step: Step, _ scene: ServiceScene) async throws -> String {
        let address = String(scene.server.url.split(separator: "/").last ?? "")
        let words = step.words.replacing("SERVER", with: address)
        // stdout and stderr as they come on a terminal.
        let ran = try await scene.machine.run(["sh", "-c", "\(words) 2>&1"], as: step.user, input: step.input)
        var prompt = "#"
        if case .named(let name) = step.user { prompt = "\(name)$" }
        var lines =
            ["\(prompt) \(words)"]
            + ran.stdout.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        if lines.last == "" { lines.removeLast() }
        if case .status(let code) = ran.exit, code != 0 { lines.append("[exit code \(code)]") }
        return lines.map { line in
            let line = plain(line.replacing(address, with: "127.0.0.1:3000"))
            return line.isEmpty ? "\n" : "    \(line)\n"
        }.joined()
    }

    /// Without what is different each time.
    private static func plain(_ line: String) -> String {
        line.replacing(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/, with: "2026-11-22 10:00:00")
            .replacing(/\d+(\.\d+)? (ms|s|min|h|days) ago/, with: "2 s ago")
            .replacing(/pid \d+/, with: "pid 4242")
            .replacing(/version \d+$/, with: "version 15")
            .replacing(/in \d+ (s|min)\b/, with: "in 4 min")
            .replacing(/for \d+ (ms|s|min)\b/, with: "for 2 s")
            .replacing(/\d+(\.\d+)? ms\b/, with: "2 ms")
            .replacing(/\d[\d,]*(\.\d+)? (KiB|MiB|GiB)/, with: "100 KiB")
            .replacing(/0\.1\.0[^\s,]*/, with: "0.1.0")
            .replacing(/\([\d.]+ \w+ reusable/, with: "(0 B reusable")
            .replacing(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/, with: "59ec6da4-0000-4000-8000-000000000001")
            .replacing(/(→|->) [0-9a-f]{8}\b/, with: "→ 59ec6da4")
    }
}

extension ServiceScene {
    /// The server listens again, where it did before.
    fileprivate func comeBack() throws { try machine.network.perform { try server.acceptConnections() } }
}
