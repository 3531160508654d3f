import Commands
import DevServer
import Glibc
import PRSNLCore
import Requests
import Store
import TestSupport
import Testing

/// `prsnlctl import`, with the real server, the real file and the real binaries.
@Suite struct ImportCommandTests {
    private func fixture(items: Int = 3, dialect: Dialect = .cursor) async throws -> DaemonFixture {
        let fixture = try DaemonFixture(
            items: DevItem.generate(count: items), dialect: dialect, WriteScene.makeQuick)
        try #require(try await fixture.run(["--once"]).exit == .status(0))
        return fixture
    }

    private func file(_ fixture: DaemonFixture, _ name: String, _ text: String) throws -> String {
        try TestFile.write(text, to: fixture.folder.file(name))
        return fixture.folder.file(name)
    }

    private func entries(_ fixture: DaemonFixture) throws -> [NewItem] {
        try StoreReader(path: fixture.database).outbox(.all, limit: 100_000).entries.sorted { $0.id < $1.id }
            .compactMap { entry in if case .create(let item) = entry.payload { item } else { nil } }
    }

    private static let pocket = """
        title,url,time_added,tags,status
        Soup,https://example.org/soup,1600000000,slow food|C++,unread
        Soup again,HTTPS://Example.org/soup,1600000001,dinner,archive
        https://example.org/bare,https://example.org/bare,1600000002,,unread
        Nothing,about:blank,1600000003,,unread
        Known,https://example.com/captured-1,1600000004,,archive

        """

    @Test(arguments: [true, false]) func eachAddressIsCapturedOnceAndOnlyOnce(isDaemonRunning: Bool) async throws {
        let fixture = try await fixture()
        let daemon = isDaemonRunning ? try await fixture.startReady() : nil
        _ = try await fixture.control("capture", "https://example.com/captured-1")
        let path = try file(fixture, "pocket.csv", Self.pocket)

        let dry = try await fixture.control("import", path, "--dry-run", "--json")
        let plan = try fixture.decode(ImportPlan.self, dry)
        #expect(plan.form == "Pocket" && plan.entries == 5 && plan.new == 2 && plan.doubled == 1 && plan.known == 1)
        #expect(plan.refused == 1 && plan.dates == 2 && plan.lostTags == ["C++": 1] && plan.minutes == 1, "\(plan)")
        #expect(try entries(fixture).count == 1)

        let first = try await fixture.control("import", path, "--tag", "old", "--dates", "--map-tags", "--json")
        let report = try fixture.decode(BatchReport.self, first)
        #expect(first.exit == .status(1) && report.accepted == 2 && report.refused == 1, "\(first)")
        #expect(report.refusals.map(\.item) == ["pocket.csv, line 5"])
        let made = Array(try entries(fixture).dropFirst())
        #expect(
            made == [
                NewItem(
                    url: "https://example.org/soup", title: "Soup", note: "Saved 2020-09-13.",
                    tags: ["old", "slow food", "c", "dinner"]),
                NewItem(url: "https://example.org/bare", note: "Saved 2020-09-13.", tags: ["old"]),
            ], "\(made)")
        let second = try fixture.decode(BatchReport.self, try await fixture.control("import", path, "--json"))
        #expect(second.accepted == 0 && second.plan?.known == 3 && second.plan?.new == 0, "\(second)")
        if let daemon { #expect(try await daemon.terminate() == .status(0)) }
    }

    @Test func whatIsTakenBackIsQueuedAgain() async throws {
        let fixture = try await fixture()
        let path = try file(fixture, "list.txt", "https://example.org/a\nhttps://example.org/b\n")
        for _ in 1...3 {
            let ended = try await fixture.control("import", path)
            #expect(ended.exit == .status(0) && ended.stdout.hasPrefix("queued 2 "), "\(ended)")
            let undone = try await fixture.control("undo")
            #expect(undone.exit == .status(0), "\(undone)")
        }
        #expect(try StoreReader(path: fixture.database).summary().outbox.waiting == 0)
    }

    @Test func whatIsOnTheServerOrWasDeletedHereIsKnown() async throws {
        let fixture = try await fixture(items: 30)
        let items = fixture.server.items().filter { $0.url != nil }
        let urls = items.prefix(5).compactMap(\.url)
        try #require(urls.count == 5)
        let daemon = try await fixture.startReady()
        #expect(try await fixture.control("delete", "--yes", "--wait", items[0].id).exit == .status(0))
        let path = try file(fixture, "list.txt", urls.map { "\($0)\n" }.joined())
        let report = try fixture.decode(BatchReport.self, try await fixture.control("import", path, "--json"))
        #expect(report.accepted == 0 && report.plan?.known == 5, "\(report)")
        #expect(try await daemon.terminate() == .status(0))
    }

    @Test func whatIsWantedIsChosenByStateAndTime() async throws {
        let fixture = try await fixture()
        let path = try file(fixture, "pocket.csv", Self.pocket)
        func new(_ options: String...) async throws -> Int {
            let ended = try await fixture.control(["import", path, "--dry-run", "--json"] + options)
            return try fixture.decode(ImportPlan.self, ended).new
        }
        #expect(try await new() == 3)
        #expect(try await new("--only", "unread") == 2)
        #expect(try await new("--only", "unread", "--only", "archived") == 3)
        #expect(try await new("--since", "2020-09-13T12:26:42Z") == 2)
        for wrong in [["--only", "new"], ["--since", "soon"], ["--tag", "C++"]] {
            #expect(try await fixture.control(["import", path] + wrong).exit != .status(0), "\(wrong)")
        }
        #expect(try entries(fixture).isEmpty)
    }

    @Test func aFolderIsReadPartByPart() async throws {
        let fixture = try await fixture()
        try #require(mkdir(fixture.folder.file("export"), 0o755) == 0)
        for part in 0...1 {
            _ = try file(
                fixture, "export/part_00000\(part).csv",
                "title,url,time_added,tags,status\nA,https://example.org/\(part),1600000000,,unread\n")
        }
        _ = try file(fixture, "export/annotations.json", #"{"about":"something else"}"#)
        _ = try file(fixture, "export/part_000002.csv.gz", "packed")
        try #require(mkdir(fixture.folder.file("export/content"), 0o755) == 0)
        let ended = try await fixture.control("import", fixture.folder.file("export"), "--json")
        let report = try fixture.decode(BatchReport.self, ended)
        #expect(ended.exit == .status(0) && report.accepted == 2 && report.plan?.files == 2)
        let others = [
            "annotations.json has no entries of a known form.",
            "part_000002.csv.gz ends with none of .csv, .json, .jsonl, .html, .htm, .txt.",
        ]
        #expect(report.plan?.otherFiles == others, "\(report)")
        let missing = try await fixture.control("import", fixture.folder.file("nowhere"))
        #expect(missing.exit == .status(1) && missing.stderr.contains("cannot be read"), "\(missing)")
        let piped = try await fixture.control("import", "-", input: "https://example.org/piped\n")
        #expect(piped.exit == .status(0) && piped.stdout.hasPrefix("queued #3"), "\(piped)")
    }

    /// The entry is captured nevertheless. --dry-run says it too, and what is refused.
    @Test func whatIsLeftOutOfAnEntryIsNamed() async throws {
        let fixture = try await fixture()
        let title = String(repeating: "t", count: 9_000)
        let path = try file(fixture, "x.csv", "url,title,date\nhttps://example.org/a,\(title),soon\nabout:blank,B,\n")
        for options in [["--dry-run"], []] {
            let ended = try await fixture.control(["import", path] + options)
            #expect(ended.stderr.contains("x.csv, line 2, left out: a date that cannot be read."), "\(ended)")
            #expect(ended.stderr.contains("x.csv, line 2, left out: title: 9,000 characters"), "\(ended)")
            #expect(ended.stderr.contains("x.csv, line 3: "), "\(ended)")
        }
        #expect(try entries(fixture).map(\.url) == ["https://example.org/a"])
    }

    /// Every entry is new, known, doubled, not chosen or refused.
    @Test func theNumbersOfThePlanAddUp() async throws {
        let fixture = try await fixture()
        let many = (1...25).map { "t\($0)" }.joined(separator: "|")
        let texts = [
            "pocket.csv": Self.pocket
                + "Open,\"https://example.org/x,1,,unread\nMany,https://example.org/m,1,\(many),unread,1,2\n",
            "more.csv": "title,url,time_added,tags,status\nMany,https://example.org/m,1,\(many),unread\n",
            "list.txt": "https://example.org/1\nhttps://example.org:443/1\n{\"url\"\nx\n",
            "array.json": #"[{"url":"https://example.org/2"},"https://example.org/3",5,null,["x"],{"title":"none"}]"#,
            "cut.html":
                "<!DOCTYPE NETSCAPE-Bookmark-file-1><DL><DT><A HREF=\"https://example.org/4\">4</A><DT><A HREF=\"https://exa",
        ]
        for (name, text) in texts {
            let path = try file(fixture, name, text)
            let plan = try fixture.decode(
                ImportPlan.self, try await fixture.control("import", path, "--dry-run", "--json", "--only", "unread"))
            #expect(
                plan.entries == plan.new + plan.known + plan.doubled + plan.skipped + plan.refused, "\(name): \(plan)")
            let all = try fixture.decode(
                ImportPlan.self, try await fixture.control("import", path, "--dry-run", "--json"))
            #expect(all.entries == all.new + all.known + all.doubled + all.skipped + all.refused, "\(name): \(all)")
            if name == "more.csv" { #expect(all.manyTags == 1 && all.lostTags.isEmpty && all.new == 1, "\(all)") }
            if name == "list.txt" { #expect(all.new == 1 && all.doubled == 1 && all.refused == 2, "\(all)") }
            if name == "array.json" { #expect(all.new == 2 && all.refused == 4, "\(all)") }
            if name == "cut.html" { #expect(all.new == 1 && all.refused == 1, "\(all)") }
        }
    }

    @Test func tenThousandBookmarksArriveOnceUnderKills() async throws {
        let fixture = try await fixture()
        var random = SeededRandom("tenThousandBookmarksArriveOnceUnderKills")
        let links = (1...10_000).map { "<DT><A HREF=\"https://example.org/\($0)\" ADD_DATE=\"16\">Page \($0)</A>\n" }
        let path = try file(
            fixture, "bookmarks.html", "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><p>\n\(links.joined())</DL><p>\n")
        var kills = 0
        var ended: DaemonFixture.Ended?
        while ended == nil {
            let command = try fixture.startControl(["import", path, "--json"])
            // At a place of its own: before it has written anything, or up to two groups later.
            let waiting = { try StoreReader(path: fixture.database).summary().outbox.waiting }
            let target = try waiting() + Int.random(in: 0...1_000, using: &random)
            while kills < 30, command.pollExit() == nil, try waiting() < target { sched_yield() }
            guard kills < 30 else {
                ended = (try await command.waitForExit(), command.stdout, command.stderr)
                break
            }
            command.signal(SIGKILL)
            _ = try await command.waitForExit()
            kills += 1
        }
        let last = try #require(ended)
        #expect(last.exit == .status(0), "\(last)")
        let urls = try entries(fixture).compactMap(\.url)
        #expect(urls.count == 10_000 && Set(urls).count == 10_000, "\(urls.count)")
        let again = try fixture.decode(BatchReport.self, try await fixture.control("import", path, "--json"))
        #expect(again.accepted == 0 && again.plan?.known == 10_000)
    }
}
