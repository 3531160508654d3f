import Commands
import DevServer
import Glibc
import PRSNLCore
import Requests
import TestSupport
import Testing

@testable import Store

/// `prsnlctl show`, and the options of `sync` and `--once` that are about texts.
@Suite struct ShowCommandTests {
    private func fixture(_ items: [DevItem], _ lines: String = "texts = yes") throws -> DaemonFixture {
        let fixture = try DaemonFixture(items: items)
        try fixture.configure(lines)
        return fixture
    }

    private static var article: DevItem {
        var item = DevItem.generate(count: 1)[0]
        item.title = "Bread \u{1B}[31mred"
        item.type = "article"
        item.status = "completed"
        item.content = "First line.\n\nA long one: " + String(repeating: "word ", count: 40) + "\u{1B}[2J\u{202E}end"
        item.metadata = #"{"author":"Ada Lovelace","word_count":44}"#
        return item
    }

    @Test func anItemIsShownWithTheDaemonStopped() async throws {
        let fixture = try fixture([Self.article])
        #expect(try await fixture.run(["--once"]).exit == .status(0))
        let shown = try await fixture.control("show", String(Self.article.id.prefix(8)))
        #expect(shown.exit == .status(0), "\(shown)")
        #expect(shown.stdout.hasPrefix("Bread \\u{1B}[31mred\n"))
        #expect(shown.stdout.contains("by Ada Lovelace"))
        #expect(shown.stdout.contains("44 words"))
        #expect(shown.stdout.contains("\n\nFirst line.\n\nA long one: word "))
        #expect(!shown.stdout.contains("\u{1B}") && !shown.stdout.contains("\u{202E}"))
        #expect(shown.stdout.split(separator: "\n").allSatisfy { $0.count <= 80 || $0.hasPrefix("https://") })
        let raw = try await fixture.control("show", "--raw", Self.article.id)
        #expect(raw.stdout == Self.article.content)
        let report = try fixture.decode(ItemReport.self, await fixture.control("show", "--json", Self.article.id))
        #expect(report.content == Self.article.content)
        #expect(report.textState == .current)
        let wrong = try await fixture.control("show", "ffffffff")
        #expect(wrong.exit == .status(1))
        #expect(wrong.stderr.contains("The copy has no item with the id ffffffff."))
        #expect(try await fixture.control("show", "--raw", "--json", Self.article.id).exit == .status(2))
    }

    @Test func whatIsNotHereIsSaid() async throws {
        var large = Self.article
        large.content = String(repeating: "x", count: 100_000)
        let fixture = try fixture([large], "texts = yes\ntext_max_size = 64KiB")
        #expect(try await fixture.run(["--once", "--no-texts"]).exit == .status(0))
        var shown = try await fixture.control("show", large.id)
        #expect(shown.stdout.contains("Its text is not here yet."), "\(shown.stdout)")
        #expect(fixture.server.requests(.item).isEmpty)
        #expect(try await fixture.run(["--once"]).exit == .status(0))
        shown = try await fixture.control("show", large.id)
        #expect(shown.stdout.contains("larger than text_max_size"), "\(shown.stdout)")
        let daemon = try await fixture.startReady()
        let fetched = try await fixture.control("sync", "--text", String(large.id.prefix(8)))
        #expect(fetched.exit == .status(0), "\(fetched)")
        #expect(fetched.stdout.contains("1 text"))
        let raw = try await fixture.control("show", "--raw", large.id)
        #expect(raw.stdout == large.content)
        let both = try await fixture.control("sync", "--text", large.id, "--full")
        #expect(both.exit == .status(2))
        #expect(try await daemon.terminate() == .status(0))
    }

    @Test func aLongTextOnATerminalGoesThroughThePager() async throws {
        var long = Self.article
        long.content = (1...50).map { "line \($0)" }.joined(separator: "\n")
        let fixture = try fixture([long])
        let environment = [
            "HOME": fixture.folder.path, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TERM": "dumb",
            "PAGER": "sed 's/^/paged: /'",
        ]
        func typed(_ line: String) async throws -> String {
            let terminal = try TerminalProcess(
                "/bin/sh", ["-c", "stty rows 20 cols 80; \(line)"], environment: environment,
                directory: fixture.folder.path)
            #expect(try await terminal.waitForExit() == .status(0), "\(terminal.shown)")
            return terminal.shown
        }
        let pull = try BuiltProducts.executable("prsnld") + " --config \(fixture.configuration) --once"
        #expect(try await typed(pull).contains("1 text"))
        let show = try BuiltProducts.executable("prsnlctl") + " --config \(fixture.configuration) show \(long.id)"
        #expect(try await typed(show).contains("paged: line 50"))
        // Not a shell of root's for those who may run this one program as root (sudo puts SUDO_UID there).
        try TestFile.write(
            "#!/bin/sh\necho secure=$LESSSECURE\nsed 's/^/less: /'\n", to: fixture.folder.file("less"), mode: 0o755)
        let lent = try await typed("SUDO_UID=1000 PATH=\(fixture.folder.path):$PATH \(show)")
        #expect(lent.contains("secure=1") && lent.contains("less: line 50") && !lent.contains("paged:"), "\(lent)")
        for plain in [show + " --no-pager", show + " | cat", "PAGER=nothing-like-it \(show)"] {
            let shown = try await typed(plain)
            #expect(shown.contains("line 50") && !shown.contains("paged:"), "\(plain)")
        }
    }

    @Test func aNoteThatWaitsIsShown() async throws {
        let fixture = try fixture(DevItem.generate(count: 3))
        #expect(try await fixture.run(["--once"]).exit == .status(0))
        #expect(try await fixture.control("note", "Milk and bread").exit == .status(0))
        let id = try #require(
            StoreReader(path: fixture.database).item(
                Connection(path: fixture.database, mode: .readOnly).text(
                    "SELECT id FROM timeline WHERE pending = 'creation'") ?? ""
            ).item.id as String?)
        let shown = try await fixture.control("show", id)
        #expect(shown.stdout.contains("made here, and not confirmed by the server yet"), "\(shown)")
        #expect(shown.stdout.contains("\nMilk and bread\n"))
    }

    @Test func aPersonWaitsForAllTexts() async throws {
        let fixture = try fixture(DevItem.generate(count: 300))
        let daemon = try await fixture.startReady()
        let synced = try await fixture.control("sync", "--texts", "--wait")
        #expect(synced.exit == .status(0), "\(synced)")
        let status = try await fixture.status()
        #expect(status.copy.texts?.complete == true)
        #expect(status.copy.texts?.asOf == status.copy.editsAsOf)
        try fixture.configure("texts = no")
        daemon.signal(SIGHUP)
        try await eventually("the reload") { try await fixture.status().copy.texts?.enabled == false }
        let refused = try await fixture.control("sync", "--texts", "--wait")
        #expect(refused.exit != .status(0))
        #expect(refused.stderr.contains("texts = no"))
        #expect(try await daemon.terminate() == .status(0))
    }
}
