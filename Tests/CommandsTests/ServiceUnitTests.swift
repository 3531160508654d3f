import CommandSamples
import PRSNLCore
import Store
import Testing

@testable import Commands
@testable import Console
@testable import Requests

/// Commands are those of the daemon that was meant.
@Suite struct ServiceUnitTests {
    /// A daemon that was taken over answers root.
    @Test(arguments: [
        "prsnlctl; touch /tmp/x #", "prsnlctl $(touch /tmp/x)", "prsnlctl status | sh", "rm -rf /x", "sudo rm -rf /x",
        "prsnlctl 'a", "prsnlctl >/etc/passwd", "prsnlctl \u{22}$(x)\u{22}", "prsnlctl && x", "",
        "prsnlctl note $'\\'' `touch` '", "prsnlctl note $x", "prsnlctl note $",
        "prsnlctl note $'a\\'; touch /tmp/x #'",
    ])
    func whatTheDaemonSuggestsIsOneOfOurCommandsOrNothing(command: String) throws {
        let hostile = NextCommand(line: command)
        let report = UserFacingError(
            .diskFull, "No space.", recoverySuggestion: "Type \(hostile) now.", nextCommand: hostile)
        let told = try JSONOutput.decode(UserFacingError.self, from: try JSONOutput.line(report))
        #expect(told.nextCommand == nil)
        #expect(told.recoverySuggestion == ErrorCode.diskFull.recoverySuggestion)
        var status = Samples.report(Samples.withError)
        status.lastError?.nextCommand = hostile
        status.lastError?.recoverySuggestion = "Type \(hostile) now."
        let shown = try JSONOutput.decode(StatusReport.self, from: try JSONOutput.line(status))
        #expect(shown.lastError?.nextCommand == nil && shown.lastError?.recoverySuggestion == nil)
    }

    @Test(arguments: [
        "prsnlctl queue show 7", "sudo prsnlctl note 'it'\\''s; a $(text)'", "sudo -u '#61000' prsnlctl status",
        "journalctl -u prsnld -p err --since -1d", "chmod 600 '/a b/key'",
        "prsnlctl note $'one\\ntwo\\x27s; $(text)\\x5c'",
    ])
    func ourOwnCommandsStay(command: String) throws {
        let report = UserFacingError(.diskFull, "No space.", nextCommand: NextCommand(line: command))
        #expect(try JSONOutput.decode(UserFacingError.self, from: try JSONOutput.line(report)) == report)
    }

    /// Every text of five of these words, whatever becomes of it: a daemon's answer is foreign.
    @Test func noWordsOfADaemonEndTheProgram() {
        let parts = [
            "sudo", "-u", "prsnlctl", "prsnld", "systemctl", "journalctl -u prsnld", "|", "'", "`", "\\", "", "#1",
        ]
        var texts = [""]
        for _ in 0..<4 { texts = [""] + texts.flatMap { text in parts.map { text.isEmpty ? $0 : "\(text) \($0)" } } }
        var style = TextStyle()
        style.unit = Self.instance
        for text in texts {
            let json = Array("[\(JSONText.string(text))]".utf8)
            if let command = try? JSONOutput.decode([NextCommand].self, from: json).first { _ = style.next(command) }
            for advice in [text, "`\(text)`"] {
                let json = Array("[\(JSONText.string(advice))]".utf8)
                guard let read = try? JSONOutput.decode([Advice].self, from: json).first else { continue }
                _ = TextLayout.wrap(style.text(read), width: 3)
            }
        }
    }

    @Test(arguments: ErrorCode.allCases)
    func whatEachCodeSuggestsComesThrough(code: ErrorCode) throws {
        let report = UserFacingError(code, "It failed.")
        #expect(try JSONOutput.decode(UserFacingError.self, from: try JSONOutput.line(report)) == report)
    }

    private static let machine = ServiceUnit()
    private static let instance = ServiceUnit(.system("prsnld@work"), options: ["--instance", "work"])
    private static let own = ServiceUnit(.user)
    private static let manual = ServiceUnit(.manual(nil))
    private static let root = ServiceUnit(rootAccess: .isRoot)
    private static let withoutSudo = ServiceUnit(rootAccess: .su)
    private static let onFile = ServiceUnit(.manual(nil), options: ["--database", "/srv/a b.sqlite"])
    private static let given = ServiceUnit(.system("prsnld"), options: ["--config", "/etc/prsnld/prsnld.conf"])
    private static let other = ServiceUnit(.manual("/srv/a b.conf"), options: ["--config", "/srv/a b.conf"])

    @Test(
        arguments: [
            (machine, "systemctl start prsnld", "systemctl start prsnld"),
            (machine, "sudo prsnlctl login", "sudo prsnlctl login"),
            (instance, "systemctl start prsnld", "systemctl start prsnld@work"),
            (instance, "sudo systemctl restart prsnld", "sudo systemctl restart prsnld@work"),
            (instance, "prsnlctl account --accept-new", "prsnlctl --instance work account --accept-new"),
            (instance, "sudo prsnlctl login", "sudo prsnlctl --instance work login"),
            (instance, "sudo prsnlctl --instance work login", "sudo prsnlctl --instance work login"),
            (instance, "prsnld --check-config", "prsnld --instance work --check-config"),
            (instance, "prsnld --once", "systemctl start prsnld@work"),
            (instance, "journalctl -u prsnld", "journalctl -u prsnld@work"),
            (instance, "chmod 600 /etc/prsnld/key", "chmod 600 /etc/prsnld/key"),
            (own, "systemctl start prsnld", "systemctl --user start prsnld"),
            (own, "sudo systemctl restart prsnld", "systemctl --user restart prsnld"),
            (own, "sudo systemctl stop prsnld", "systemctl --user stop prsnld"),
            (manual, "sudo systemctl stop prsnld", nil),
            (own, "sudo prsnlctl login", "prsnlctl login"),
            (other, "systemctl start prsnld", "prsnld --config '/srv/a b.conf'"),
            (other, "systemctl restart prsnld", nil),
            (manual, "systemctl start prsnld", "prsnld"),
            (manual, "sudo systemctl restart prsnld", nil),
            (manual, "sudo prsnlctl login", "sudo prsnlctl login"),
            (root, "sudo prsnlctl login", "prsnlctl login"),
            (root, "sudo systemctl restart prsnld", "systemctl restart prsnld"),
            (root, "sudo -u '#61000' prsnlctl note x", "prsnlctl note x"),
            (root, "sudo chown prsnld /srv/a", "chown prsnld /srv/a"),
            (withoutSudo, "sudo prsnlctl login", "su -c 'prsnlctl login'"),
            (withoutSudo, "sudo prsnlctl note 'a b'", #"su -c 'prsnlctl note '\''a b'\'''"#),
            (withoutSudo, "prsnlctl status", "prsnlctl status"),
            (onFile, "systemctl start prsnld", "PRSNL_DATABASE='/srv/a b.sqlite' prsnld"),
            (onFile, "prsnld --once", "PRSNL_DATABASE='/srv/a b.sqlite' prsnld --once"),
            (onFile, "prsnlctl login", "prsnlctl --database '/srv/a b.sqlite' login"),
            (other, "prsnld --check-config", "prsnld --config '/srv/a b.conf' --check-config"),
            (
                other, "tail -n +3 FILE | prsnlctl capture --stdin",
                "tail -n +3 FILE | prsnlctl --config '/srv/a b.conf' capture --stdin"
            ),
            (given, "prsnld --check-config", "prsnld --config /etc/prsnld/prsnld.conf --check-config"),
            (given, "prsnlctl login", "prsnlctl --config /etc/prsnld/prsnld.conf login"),
            (other, "prsnlctl login", "prsnlctl --config '/srv/a b.conf' login"),
        ] as [(ServiceUnit, String, String?)])
    func aCommandIsFittedToItsDaemon(unit: ServiceUnit, command: String, fitted: String?) {
        #expect(unit.fit(NextCommand(line: command))?.line == fitted)
        // What is fitted already stays as it is.
        if let fitted { #expect(unit.fit(NextCommand(line: fitted))?.line == fitted) }
    }

    @Test(
        arguments: [
            (machine, Advice("Look at it with `prsnlctl queue show 7`."), "Look at it with `prsnlctl queue show 7`."),
            (
                instance, "Look at it with `prsnlctl queue show 7`.",
                "Look at it with `prsnlctl --instance work queue show 7`."
            ),
            (
                own, "Start it with `systemctl start prsnld`, or run `prsnld` in a terminal.",
                "Start it with `systemctl --user start prsnld`, or run `prsnld` in a terminal."
            ),
            // Both ways to start it are one.
            (
                other, "Start it with `systemctl start prsnld`, or run `prsnld` in a terminal.",
                "Start it with `prsnld --config '/srv/a b.conf'` in a terminal."
            ),
            // There is no such command for it.
            (other, "then `systemctl reload prsnld`.", "then restart the daemon."),
            (
                machine, .newCopy,
                "`sudo systemctl stop prsnld`, `prsnlctl account --accept-new`, `sudo systemctl start prsnld`"
            ),
            (
                own, .newCopy,
                "`systemctl --user stop prsnld`, `prsnlctl account --accept-new`, `systemctl --user start prsnld`"
            ),
            (manual, .newCopy, "stop the daemon, `prsnlctl account --accept-new`, `prsnld`"),
            (other, "Look at `journalctl -u prsnld`, or the terminal.", "Look at its log, or the terminal."),
            (
                manual, "Start it with `systemctl start prsnld`, or run `prsnld` in a terminal.",
                "Start it with `prsnld` in a terminal."
            ),
            (instance, "Look with `SELECT id FROM timeline`.", "Look with `SELECT id FROM timeline`."),
        ] as [(ServiceUnit, Advice, String)])
    func aSentenceHasTheCommandsOfItsDaemon(unit: ServiceUnit, sentence: Advice, text: String) throws {
        #expect(unit.fit(sentence).description == text)
        var style = TextStyle()
        style.unit = unit
        #expect(style.text(sentence) == text)
        #expect(try JSONOutput.pretty([sentence], unit) == "[\n  \"\(text)\"\n]")
    }

    @Test(arguments: ["`prsnlctl login`", "7`; rm -rf ~ `", "; rm -rf ~", "$(x)", "`"])
    func aValueIsNoCommand(value: String) {
        let text: Advice = "The file \(value) is odd."
        #expect(text.commands.isEmpty && text.description == "The file \(value) is odd.")
        let command: Advice = "Look at it with `prsnlctl queue show \(value)`."
        #expect(command.commands == [NextCommand(["prsnlctl", "queue", "show", value])])
        #expect(command.description.contains("prsnlctl queue show '\(value)'"))
    }

    @Test func reportsNameTheCommandsOfTheirDaemon() throws {
        #expect(try JSONOutput.pretty(Samples.firstLogin, Self.own).contains("\"systemctl --user start prsnld\""))
        var style = TextStyle()
        style.unit = Self.instance
        #expect(Samples.otherLogin.text(style).contains("`prsnlctl --instance work account --accept-new`"))
        // A line may be wrapped within a command.
        let words = Samples.account.text(style).split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(words.contains("`prsnlctl --instance work account --accept-new`"))
        #expect(
            Samples.whoami.text(style).split(whereSeparator: \.isWhitespace).joined(separator: " ")
                .contains("`prsnlctl --instance work account --accept-new`"))
        #expect(Sending.whenAuthorized.text(style).hasSuffix("see `prsnlctl --instance work whoami`"))
        var summary = CopySummary()
        summary.outbox.parked = 2
        let line = ServiceStatus.text(EngineState(), summary, unit: Self.instance, now: Timestamp(microseconds: 0))
        #expect(line.contains("see prsnlctl --instance work queue"))
        let failure = FailureReport(UserFacingError(.daemonNotRunning, "No daemon listens."))
        let told = try JSONOutput.decode(
            FailureReport.self, from: Array(try JSONOutput.pretty(failure, Self.instance).utf8)
        ).error
        #expect(told.nextCommand == "systemctl start prsnld@work")
        #expect(told.recoverySuggestion.description.contains("`systemctl start prsnld@work`"))
        #expect(failure.text(program: "prsnlctl", style).contains("`systemctl start prsnld@work`"))
    }
}
