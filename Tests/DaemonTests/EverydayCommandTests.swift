import Commands
import DevServer
import Glibc
import PRSNLCore
import Requests
import TestSupport
import Testing

@testable import Store

/// What people who know other tools expect of the command line: the real binaries on a real file.
@Suite struct EverydayCommandTests {
    private static let tokyo = ["TZ": "Asia/Tokyo"]

    private static func item(_ number: Int, _ title: String, at time: String? = nil, type: String = "article")
        -> DevItem
    {
        var item = SearchCommandTests.item(number, title, type: type, url: "https://example.org/\(number)")
        if let time = time.flatMap(Timestamp.init) { item.createdAt = time }
        return item
    }

    private func stopped(_ items: [DevItem]) async throws -> DaemonFixture {
        let fixture = try DaemonFixture(items: items)
        #expect(try await fixture.run(["--once"]).exit == .status(0))
        return fixture
    }

    @Test func timesAndDaysAreThoseOfTheClockOnTheWall() async throws {
        // In Tokyo it was the second already.
        let fixture = try await stopped([
            Self.item(0, "Evening", at: "2026-11-01T15:30:00Z"), Self.item(1, "Noon", at: "2026-11-01T12:00:00Z"),
        ])
        let id = Self.item(0, "").id
        func control(_ words: String..., tokyo: Bool = true) async throws -> String {
            let ended = try await fixture.control(words, environment: tokyo ? Self.tokyo : ["TZ": "UTC"])
            #expect(ended.exit == .status(0), "\(ended)")
            return ended.stdout
        }
        #expect(try await control("list", "-n", "1").contains("  2026-11-02  article  Evening"))
        #expect(try await control("list", "-n", "1", tokyo: false).contains("  2026-11-01  article  Evening"))
        #expect(try await control("list", "--ids", "--since", "2026-11-02") == id + "\n")
        #expect(try await control("list", "--ids", "--since", "2026-11-02", tokyo: false).isEmpty)
        #expect(try await control("search", "--ids", "since:2026-11-02", "before:2026-11-03") == id + "\n")
        #expect(try await control("show", id).contains("created 2026-11-02 00:30:00 JST"))
        #expect(try await control("show", id, tokyo: false).contains("created 2026-11-01 15:30:00 UTC"))
        #expect(try await control("show", id, "--json").contains("\"created_at\" : \"2026-11-01T15:30:00.000000Z\""))
        // The zone stands there once.
        let status = try await fixture.control("history", environment: Self.tokyo).stdout
        #expect(status.hasPrefix("Started (JST)  ") && status.matches(of: /JST|UTC/).count == 1, "\(status)")
        let folder = fixture.folder.file("vault")
        _ = try await fixture.control("export", folder, environment: Self.tokyo)
        #expect(access(folder + "/2026-11-02 Evening.md", F_OK) == 0)
    }

    @Test func listsSayHowManyThereAre() async throws {
        let items = DevItem.generate(count: 150)
        let fixture = try await stopped(items)
        let some = try await fixture.control("list")
        #expect(some.stdout.split(separator: "\n").count == 20)
        #expect(some.stderr == "prsnlctl: 20 of 150 shown; -n 100 shows more.\n", "\(some)")
        let all = try await fixture.control("list", "-n", "0", "--ids")
        #expect(all.stdout.split(separator: "\n").count == 150 && all.stderr.isEmpty)
        #expect(try await fixture.control("list", "--count").stdout == "150\n")
        let one = try #require(items[0].title.split(separator: " ").last)
        let found = try await fixture.control("search", "--ids", "-n", "0", String(one)).stdout.split(separator: "\n")
        #expect(try await fixture.control("search", "--count", String(one)).stdout == "\(found.count)\n")
        let json = try await fixture.control("list", "--count", "--json").stdout
        #expect(json.contains("\"total\" : 150") && !json.contains("\"id\""), "\(json)")
        #expect(try await fixture.control("list", "--count", "--ids").exit == .status(2))
    }

    @Test func anotherEndingIsOfferedWhereItFindsTenTimesAsMany() async throws {
        var items = DevItem.generate(count: 25).enumerated().map { Self.item($0.offset % 10, "A recipe \($0.offset)") }
        for index in items.indices { items[index].id = "cccc\(1_000 + index)-0000" }
        items[24].title = "Recipes of others"
        items[23].title = "Recital"
        let fixture = try await stopped(items)
        let few = try await fixture.control("search", "recipes", "--ids")
        #expect(few.stdout == "cccc1024-0000\n" && few.stderr == "prsnlctl: \"recipe\" finds 23 items.\n", "\(few)")
        #expect(try await fixture.control("search", "recipe", "--ids").stderr.hasPrefix("prsnlctl: 20 of 23 shown"))
        #expect(try await fixture.control("search", "recital", "--ids").stderr.isEmpty)
        // Where the other ending finds no more beside the rest of the query, nothing is said.
        #expect(try await fixture.control("search", "recipes others", "--ids").stderr.isEmpty)
    }

    @Test func aMisspeltTypeIsAnswered() async throws {
        let fixture = try await stopped([Self.item(0, "One", type: "video"), Self.item(1, "Two")])
        for words in [["search", "type:vidoe"], ["list", "--type", "vidoe"]] {
            let none = try await fixture.control(words)
            #expect(none.stderr == "prsnlctl: No item has the type \"vidoe\". Did you mean video?\n", "\(none)")
        }
        let far = try await fixture.control("search", "type:podcast")
        #expect(far.stderr == "prsnlctl: No item has the type \"podcast\". There are article, video.\n", "\(far)")
    }

    @Test func severalAreShownOpenedAndCaptured() async throws {
        let fixture = try await stopped([Self.item(0, "One"), Self.item(1, "Two")])
        let ids = (0...1).map { Self.item($0, "").id }
        let shown = try await fixture.control(["cat"] + ids)
        #expect(shown.stdout.contains("One\n") && shown.stdout.contains("\n\n\nTwo\n"), "\(shown)")
        #expect(try await fixture.control("show", ids[0], "1717abcd").stdout.isEmpty)

        let log = fixture.folder.file("opened")
        let browser = fixture.folder.file("browser")
        try TestFile.write("#!/bin/sh\nprintf '%s\\n' \"$*\" >>'\(log)'\n", to: browser, mode: 0o700)
        let opened = try await fixture.control(["open"] + ids, environment: ["BROWSER": browser])
        #expect(opened.exit == .status(0), "\(opened)")
        let urls = try await eventually("both pages") {
            let lines = try TestFile.text(log).split(separator: "\n").map(String.init)
            return lines.count == 2 ? lines : nil
        }
        #expect(urls.sorted() == ["https://example.org/0", "https://example.org/1"])

        let saved = try await fixture.control("capture", "https://a.example/", "https://b.example/", "--tag", "x")
        #expect(saved.stdout.split(separator: "\n").count == 2 && saved.stdout.contains("#2"), "\(saved)")
        let mixed = try await fixture.control("capture", "https://c.example/", "nonsense://d")
        #expect(mixed.exit == .status(1) && mixed.stdout.contains("#3"), "\(mixed)")
        #expect(
            try await fixture.control("capture", "https://e.example/", "https://f.example/", "--title", "T").exit
                == .status(2))
    }

    /// Where one has no address of the web, no browser is started for the others.
    @Test func noneIsOpenedWhereOneMustNotBe() async throws {
        let bad = SearchCommandTests.item(1, "Bad", url: "file:///etc/passwd")
        let fixture = try await stopped([Self.item(0, "One"), bad])
        let program = try await fixture.control("open", bad.id, environment: ["BROWSER": "/bin/echo"])
        if program.exit == .status(0) { return #expect(!program.stdout.contains("file:")) }
        let opened = try await fixture.control(
            "open", Self.item(0, "").id, bad.id, environment: ["BROWSER": "/bin/echo"])
        #expect(opened.exit == .status(1) && opened.stdout.isEmpty, "\(opened)")
    }

    @Test func aCodeIsExplained() async throws {
        let fixture = try DaemonFixture(items: [])
        let explained = try await fixture.control("errors", "login_expired")
        #expect(explained.exit == .status(0) && explained.stdout.hasPrefix("login_expired\n"), "\(explained)")
        #expect(explained.stdout.contains("login`"))
        let unknown = try await fixture.control("errors", "login_expierd")
        #expect(unknown.exit == .status(2) && unknown.stderr.contains("did you mean login_expired?"), "\(unknown)")
    }

    @Test func aCodeIsExplainedAtLengthWhereItsPageIsInstalled() async throws {
        let folder = TemporaryDirectory("prefix")
        for path in ["bin", "share", "share/doc", "share/doc/prsnld", "share/doc/prsnld/docs"] {
            mkdir(folder.file(path), 0o755)
        }
        let page = try RepositoryFile.text("docs/errors.md")
        try TestFile.write(page, to: folder.file("share/doc/prsnld/docs/errors.md"))
        let program = folder.file("bin/prsnlctl")
        let copied = try await ChildProcess.run("/bin/cp", [try BuiltProducts.executable("prsnlctl"), program])
        #expect(copied.exit == .status(0))
        let explained = try await ChildProcess.run(program, ["errors", "no_server"])
        #expect(explained.exit == .status(0), "\(explained)")
        #expect(
            explained.stdout.contains("No server address is configured") && explained.stdout.contains("What to do"))
        #expect(!explained.stdout.contains("bad_server_url") && !explained.stdout.contains("**"))
    }

    @Test func coloursAreGivenByWord() async throws {
        let fixture = try await stopped([Self.item(0, "One")])
        func isColoured(_ words: String..., environment: [String: String] = [:]) async throws -> Bool {
            try await fixture.control(["list"] + words, environment: environment).stdout.contains("\u{1B}[3")
        }
        #expect(try await !isColoured())
        #expect(try await isColoured("--color=always"))
        #expect(try await isColoured("--color", "always", environment: ["NO_COLOR": "1"]))
        #expect(try await !isColoured("--color=never", environment: ["CLICOLOR_FORCE": "1"]))
        #expect(try await fixture.control("list", "--color=sometimes").exit == .status(2))
    }
}
