import Commands
import DevServer
import Glibc
import PRSNLCore
import Requests
import TestSupport
import Testing

@testable import Store

/// `prsnlctl search`, `list`, `tags` and `open`: the real binaries on a real file.
@Suite struct SearchCommandTests {
    static func item(
        _ number: Int, _ title: String, type: String = "article", tags: [String] = [], url: String? = nil
    ) -> DevItem {
        var item = DevItem.generate(count: 10)[number]
        item.title = title
        item.type = type
        item.tags = tags
        item.url = url
        item.summary = nil
        item.content = nil
        item.status = "completed"
        return item
    }

    private static let items = [
        item(0, "Sourdough for beginners", tags: ["baking", "later"], url: "https://bakery.example.org/sourdough"),
        item(1, "A starter for rye", type: "video", tags: ["baking"], url: "https://video.example.org/rye"),
        item(2, "Evil \u{1B}[31m title\nline two", type: "note"),
    ]

    /// A daemon that has stopped, after it has pulled and indexed everything.
    private func stopped(_ lines: String = "") async throws -> DaemonFixture {
        let fixture = try DaemonFixture(items: Self.items)
        try fixture.configure(lines)
        #expect(try await fixture.run(["--once"]).exit == .status(0))
        return fixture
    }

    @Test func whatIsMisspeltIsOfferedAndWhatIsUnknownNamed() async throws {
        let fixture = try await stopped()
        let misspelt = try await fixture.control("find", "sourdoguh")
        #expect(misspelt.exit == .status(0) && misspelt.stdout.isEmpty, "\(misspelt)")
        #expect(misspelt.stderr.hasPrefix("prsnlctl: No item was found. Did you mean \"sourdough\"?\n"), "\(misspelt)")
        let unknown = try await fixture.control("search", "writer:ada", "https://example.org", "--ids")
        #expect(
            unknown.stderr.hasPrefix(
                "prsnlctl: writer: is not a search field, and was searched as a word. Fields: after: author:"),
            "\(unknown)")
        for words in [["search", "tag:bakin"], ["list", "--tag", "bakin"]] {
            let tag = try await fixture.control(words)
            #expect(tag.stderr == "prsnlctl: No item has the tag \"bakin\". Did you mean baking?\n", "\(tag)")
        }
        let or = try await fixture.control("search", "cursor or walks")
        #expect(or.stderr.contains("\"or\" was searched as a word."), "\(or)")
        let field = try await fixture.control("search", "site:")
        #expect(field.stderr.contains("site: has nothing behind it"), "\(field)")
        let missing = try await fixture.control("search", "--tag", "baking")
        #expect(missing.exit == .status(2) && missing.stderr.contains("did you mean list?"), "\(missing)")
        let state = try await fixture.control("search", "is:foo")
        #expect(state.exit == .status(2) && state.stderr.hasSuffix(" search --help\n"), "\(state)")
        let few = try await fixture.control("search", "for", "--tag", "baking", "--type", "video", "--ids")
        #expect(few.stdout == Self.items[1].id + "\n", "\(few)")
        let newest = try await fixture.control("search", "for", "--newest", "-n", "1", "--json")
        #expect(newest.stdout.contains(Self.items[0].id) != newest.stdout.contains(Self.items[1].id), "\(newest)")
    }

    @Test func aSavedSearchStandsWhereAQueryMay() async throws {
        let fixture = try await stopped()
        let home = fixture.folder.file("home")
        for folder in [home, home + "/.config", home + "/.config/prsnld"] { mkdir(folder, 0o700) }
        try TestFile.write(
            "# mine\nrye = starter type:video\nbread = @rye tag:baking\nloop = @loop x\n",
            to: home + "/.config/prsnld/searches")
        func control(_ words: String...) async throws -> DaemonFixture.Ended {
            try await fixture.control(words, environment: ["HOME": home, "XDG_CONFIG_HOME": home + "/.config"])
        }
        #expect(try await control("search", "@bread", "--ids").stdout == Self.items[1].id + "\n")
        #expect(try await control("list", "@bread", "--ids").stdout == Self.items[1].id + "\n")
        #expect(
            try await control("list", "sourdough OR rye", "-n", "1", "--ids").stdout.split(separator: "\n").count == 1)
        #expect(try await control("list", "rye", "--deleted").exit == .status(2))
        // What is saved counts as one.
        #expect(try await control("search", "--ids", "--", "-@bread").stdout.split(separator: "\n").count == 2)
        #expect(
            try await control("search", "(beginners OR @rye) -type:video", "--ids").stdout == Self.items[0].id + "\n")
        #expect(try await control("list", "--complete", "search:@b").stdout == "@bread\t@rye tag:baking\n")
        #expect(try await control("tag", "+x", "--query", "@rye", "--dry-run").stdout.contains("A starter for rye"))
        let unknown = try await control("search", "@none")
        #expect(unknown.exit == .status(2) && unknown.stderr.contains("There are @rye, @bread, @loop"), "\(unknown)")
        #expect(try await control("search", "@loop").exit == .status(2))
        #expect(try await control("search", "\"mail @none\"").exit == .status(0))
    }

    @Test func itemsAreFoundWhileTheDaemonIsStopped() async throws {
        let fixture = try await stopped()
        let found = try await fixture.control("search", "SOURDOUGH", "beginners")
        #expect(found.exit == .status(0), "\(found)")
        #expect(found.stdout.hasPrefix("\(Self.items[0].id.prefix(8))  "))
        #expect(found.stdout.contains("Sourdough for beginners  [baking, later]\n"))
        #expect(found.stderr.isEmpty)
        let ids = try await fixture.control("search", "--ids", "for")
        #expect(Set(ids.stdout.split(separator: "\n").map(String.init)) == Set(Self.items[0...1].map(\.id)))
        let one = try await fixture.control("search", "--ids", "--limit", "1", "for")
        #expect(one.stdout.split(separator: "\n").count == 1)
        #expect(one.stderr == "prsnlctl: 1 of 2 shown; -n 0 shows all.\n", "\(one)")
        let evil = try await fixture.control("search", "evil")
        #expect(!evil.stdout.contains("\u{1B}") && evil.stdout.contains("\\u{1B}"))
        #expect(evil.stdout.split(separator: "\n").count <= 2)
        let json = try await fixture.control("search", "--json", "rye")
        #expect(json.stdout.contains("\"title\" : \"A starter for rye\""))
        #expect(json.stdout.contains("\"more\" : false"))
    }

    @Test func whatIsNotFoundIsSaidAndNoError() async throws {
        let fixture = try await stopped()
        for words in [["nowhere"], ["*"], ["\""], ["☕"], ["AND"]] {
            let child = try fixture.startControl(["search"] + words)
            let exit = try await child.waitForExit()
            let none = (exit: exit, stdout: child.stdout, stderr: child.stderr)
            #expect(none.exit == .status(0) && none.stdout.isEmpty, "\(none)")
            #expect(none.stderr.contains("No item was found."), "\(none)")
        }
        for (words, part) in [("", "an empty query"), ("  ", "an empty query"), ("()", "()"), ("*", "*")] {
            let nothing = try await fixture.control("search", words)
            #expect(nothing.stderr.contains("There is nothing to search for in \(part).\n"), "\(nothing)")
        }
        #expect(try await fixture.control("list", "--deleted").stderr.contains("Nothing was deleted"))
        #expect(try await fixture.control("search").exit == .status(2))
        #expect(try await fixture.control("search", "after:someday").exit == .status(2))
        #expect(try await fixture.control("search", "--limit", "-1", "x").exit == .status(2))
        #expect(try await fixture.control("search", "--ids", "--json", "x").exit == .status(2))
    }

    @Test func itemsAreListed() async throws {
        let fixture = try await stopped()
        #expect(try await fixture.control("list").stdout.split(separator: "\n").count == 3)
        let tagged = try await fixture.control("list", "--tag", "baking", "--tag", "later", "--ids")
        #expect(tagged.stdout == Self.items[0].id + "\n")
        let typed = try await fixture.control("list", "--type", "video", "--type", "note", "--ids")
        #expect(Set(typed.stdout.split(separator: "\n").map(String.init)) == Set(Self.items[1...2].map(\.id)))
        let all = try await fixture.control("list", "--ids").stdout.split(separator: "\n")
        let reversed = try await fixture.control("list", "--ids", "--reverse").stdout.split(separator: "\n")
        #expect(all == reversed.reversed())
        let none = try await fixture.control("list", "--since", "2030")
        #expect(none.exit == .status(0) && none.stdout.isEmpty && none.stderr.contains("No item matches."))
        #expect(try await fixture.control("list", "--since", "soon").exit == .status(2))
        let tags = try await fixture.control("tags")
        #expect(tags.stdout == "2  baking\n1  later\n")
        for (word, offered) in [
            ("tag:ba", "baking\t2 items\n"), ("word:+l", "+later\t1 item\n"), ("word:-l", "-later\t1 item\n"),
            ("type:v", "video\t1 item\n"), ("type:l", "link\tno item\n"), ("search:@", ""), ("instance:no-such", ""),
            ("odd", ""),
        ] { #expect(try await fixture.control("list", "--complete", word).stdout == offered, "\(word)") }
        let complete = try await fixture.control("list", "--complete", "id:\(Self.items[0].id.prefix(6))")
        #expect(complete.stdout == "\(Self.items[0].id)\tSourdough for beginners\n")
    }

    @Test func anItemIsOpenedInTheBrowser() async throws {
        let fixture = try await stopped()
        let browser = fixture.folder.file("browser")
        try TestFile.write("#!/bin/sh\nprintf '%s\\n' \"$@\" >\"$0.log\"\n", to: browser)
        #expect(chmod(browser, 0o755) == 0)
        let opened = try await fixture.control(
            "open", String(Self.items[0].id.prefix(8)), environment: ["BROWSER": browser])
        #expect(opened.exit == .status(0), "\(opened)")
        #expect(try TestFile.text(browser + ".log") == "https://bakery.example.org/sourdough\n")
        let nowhere = try await fixture.control("open", Self.items[0].id)
        #expect(nowhere.stdout == "https://bakery.example.org/sourdough\n")
        #expect(nowhere.stderr.contains("no desktop"))
        let missing = try await fixture.control("open", Self.items[0].id, environment: ["BROWSER": "/nowhere/at-all"])
        #expect(missing.exit == .status(1) && missing.stderr.contains("could not be started"))
    }

    /// What a server sends as an address is not what a program is told to open.
    @Test(arguments: [
        "file:///etc/passwd", "javascript:alert(1)", "https://a b", "https://", "-flag", "https://x.org/\u{1B}]",
    ])
    func onlyPagesOfTheWebAreOpened(url: String) async throws {
        let fixture = try DaemonFixture(items: [Self.item(0, "Bad", url: url)])
        #expect(try await fixture.run(["--once"]).exit == .status(0))
        let opened = try await fixture.control("open", Self.item(0, "").id, environment: ["BROWSER": "/bin/echo"])
        #expect(!opened.stdout.contains(url), "\(opened)")
    }

    @Test func wordsInThePlaceOfAnIdAreAnswered() async throws {
        let fixture = try await stopped()
        let shown = try await fixture.control("show", "sourdough")
        #expect(shown.exit == .status(1))
        #expect(
            shown.stderr.contains("A search for it finds one item, \"Sourdough for beginners\"."), "\(shown.stderr)")
        #expect(shown.stderr.contains("show \(Self.items[0].id)"))
        // A number of the queue is no word to search for.
        #expect(try await fixture.control("note", "Chapter 1717").exit == .status(0))
        #expect(try await !fixture.control("delete", "--yes", "1717").stderr.contains("finds one item"))
        // Two items: nothing is offered.
        #expect(try await !fixture.control("show", "starter sourdough").stderr.contains("finds one item"))
        let deleted = try await fixture.control("delete", "--yes", "rye starter")
        #expect(deleted.exit == .status(1) && deleted.stderr.contains("Its id is \(Self.items[1].id)"), "\(deleted)")
    }

    @Test func writesAreFoundAtOnceWithoutADaemon() async throws {
        let fixture = try await stopped()
        #expect(try await fixture.control("note", "A zebra crossing").exit == .status(0))
        #expect(try await fixture.control("edit", Self.items[0].id, "--title", "Giraffe bread").exit == .status(0))
        #expect(try await fixture.control("delete", "--yes", Self.items[1].id).exit == .status(0))
        #expect(try await fixture.control("search", "zebra").stdout.contains("(not confirmed yet)"))
        #expect(try await fixture.control("search", "giraffe").stdout.contains("(edit not sent yet)"))
        #expect(try await fixture.control("search", "beginners").stdout.isEmpty)
        #expect(try await fixture.control("search", "rye").stdout.isEmpty)
    }

    @Test func theDaemonIndexesWhatItCommits() async throws {
        let fixture = try DaemonFixture(items: Self.items)
        let daemon = try await fixture.startReady()
        try await fixture.waitUntilComplete()
        _ = try await eventually("the words of an item") {
            try await fixture.control("search", "sourdough").stdout.isEmpty ? nil : true
        }
        #expect(try await fixture.control("note", "A zebra crossing").exit == .status(0))
        _ = try await eventually("the words of a note") {
            try await fixture.control("search", "zebra").stdout.isEmpty ? nil : true
        }
        let rebuilt = try await fixture.control("doctor", "--rebuild-index")
        #expect(
            rebuilt.stderr.contains("the index is built again") || rebuilt.stderr.contains("was built again"),
            "\(rebuilt)")
        _ = try await eventually("the words of an item, again") {
            try await fixture.control("search", "sourdough").stdout.isEmpty ? nil : true
        }
        #expect(try await daemon.terminate() == .status(0))
    }

    /// The second is a size that was never written, for which there is not the memory.
    @Test(arguments: [
        "DELETE FROM search_index_data",
        "UPDATE search_index_data SET block = X'000000000101010087FFFFFF7F' WHERE id = 10",
    ])
    func theDaemonBuildsADamagedIndexAgain(damage: String) async throws {
        let fixture = try await stopped()
        // Debian 13's does not modify such tables unless it is told so.
        let damaged = try await ChildProcess.run(
            "/usr/bin/sqlite3", [fixture.database, ".dbconfig defensive off", damage])
        #expect(damaged.exit == .status(0), "\(damaged)")
        let daemon = try await fixture.startReady()
        #expect(try await fixture.control("note", "A zebra crossing").exit == .status(0))
        _ = try await daemon.waitForErrorLine(containing: "is built again")
        _ = try await eventually("the words of an item") {
            try await fixture.control("search", "sourdough").stdout.isEmpty ? nil : true
        }
        #expect(try await daemon.terminate() == .status(0))
    }

    /// Ids are a server's texts. What a shell would make something else of is not handed on.
    @Test func onlyPlainIdsAreHandedOn() async throws {
        let ids = ["cccc0001-0000", "zzzz cccc0001-0000", "--yes", "*", "$(reboot)", "a\nb", "..", "x;y", "\u{1B}[31m"]
        let items = ids.enumerated().map { number, id in
            var item = Self.item(number, "Junk")
            item.id = id
            return item
        }
        let fixture = try DaemonFixture(items: items)
        #expect(try await fixture.run(["--once"]).exit == .status(0))
        for words in [["search", "--ids", "junk"], ["list", "--ids"]] {
            let child = try fixture.startControl(words)
            #expect(try await child.waitForExit() == .status(0))
            #expect(child.stdout == "cccc0001-0000\n", "\(words)")
            #expect(child.stderr.contains("8 items left out"), "\(child.stderr)")
        }
        #expect(try await fixture.control("list", "--complete", "id:").stdout == "cccc0001-0000\tJunk\n")
    }

    @Test func anIndexThatIsNotWantedIsNotBuilt() async throws {
        let fixture = try await stopped("search_index = no")
        let found = try await fixture.control("search", "sourdough")
        #expect(found.exit == .status(0) && found.stdout.isEmpty)
        #expect(found.stderr.contains("3 new or changed items are not in the search index yet."))
        #expect(try await fixture.control("status").stdout.contains("3 items cannot be found until"))
        // The list needs none.
        #expect(try await fixture.control("list", "--tag", "later", "--ids").stdout == Self.items[0].id + "\n")
        #expect(try await fixture.control("tags").stdout == "2  baking\n1  later\n")
        let rebuilt = try await fixture.control("doctor", "--rebuild-index")
        #expect(rebuilt.stderr.contains("the index was built again"))
        #expect(try await fixture.control("search", "sourdough").stdout.contains("Sourdough"))
    }

    @Test func aFileOfAnOlderReleaseIsExplained() async throws {
        let fixture = try await stopped()
        let removed = try await ChildProcess.run(
            "/usr/bin/sqlite3",
            [fixture.database, "DROP VIEW item_search; DROP TABLE search_index; PRAGMA user_version = 2"])
        #expect(removed.exit == .status(0), "\(removed)")
        let found = try await fixture.control("search", "sourdough")
        #expect(found.exit == .status(1) && found.stderr.contains("no full-text index"), "\(found)")
        #expect(try await fixture.control("list", "--ids").stdout.split(separator: "\n").count == 3)
    }
}
