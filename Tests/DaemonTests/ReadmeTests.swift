import DevServer
import PRSNLCore
import TestSupport
import Testing

/// The terminal of README.md: types what it shows, and compares each line, those of stderr too.
@Suite struct ReadmeTests {
    private static let words = """
        Flour, water and salt are all that it takes, and time. I have tried many recipes in many kitchens since then, and \
        of all of these the best bread that I ever baked was a mistake, and it began with a starter that I had forgotten on the window sill.
        """

    private static var items: [DevItem] {
        var items = DevItem.generate(count: 30)
        items[3].title = "Sourdough for beginners"
        items[3].type = "article"
        items[3].tags = ["baking"]
        items[3].content = words
        items[3].summary = nil
        items[3].status = "completed"
        return items
    }

    /// Each command with the lines that it prints.
    private static func transcript() throws -> [(command: String, output: [String])] {
        let page = try RepositoryFile.text("README.md").split(separator: "\n", omittingEmptySubsequences: false)
        let lines = page.drop { $0 != "    $ prsnlctl status" }.prefix { $0.hasPrefix("    ") }.map { $0.dropFirst(4) }
        var steps: [(command: String, output: [String])] = []
        for line in lines {
            if line.hasPrefix("$ ") {
                let command = line.dropFirst(2).split(separator: "  ", maxSplits: 1)[0]
                steps.append((String(command), []))
            } else {
                steps[steps.count - 1].output.append(String(line))
            }
        }
        return steps
    }

    @Test func theTranscriptIsWhatIsPrinted() async throws {
        let fixture = try DaemonFixture(items: Self.items) { $0.quirks.patchFails = false }
        try fixture.configure("texts = yes")
        let daemon = try await fixture.startReady()
        defer { withExtendedLifetime(daemon) {} }
        try await eventually("a complete copy with texts, and its index") {
            let report = try await fixture.status()
            return report.copy.texts?.complete == true && report.copy.search?.notIndexed == 0
        }
        let steps = try Self.transcript()
        #expect(steps.count == 6)
        for step in steps {
            if step.command.hasPrefix("prsnlctl note") {
                fixture.server.refuseConnections()
                _ = try await fixture.control("ping")
            }
            if step.command.hasPrefix("prsnlctl search") {
                try await eventually("the index") { try await fixture.status().copy.search?.notIndexed == 0 }
            }
            let printed = try await Self.type(step.command, fixture)
            #expect(printed.exit == .status(0), "\(step.command): \(printed)")
            let seen = printed.stdout.split(separator: "\n").map { Self.plain(String($0)) }
            let shown = step.output.map(Self.plain)
            if step.command == "prsnlctl status" {
                // It is shortened there.
                #expect(shown.allSatisfy(seen.contains), "\(shown) in \(seen)")
            } else if !shown.isEmpty {
                #expect(seen == shown, "\(step.command)")
            }
        }
    }

    private static func type(_ command: String, _ fixture: DaemonFixture) async throws -> DaemonFixture.Ended {
        let words = command.replacing("~/.local/state/prsnld/prsnl.sqlite", with: fixture.database)
        let own = "\(try BuiltProducts.executable("prsnlctl")) --config \(fixture.configuration)"
        let child = try ChildProcess(
            "/bin/sh", ["-c", "exec 2>&1; " + words.replacing(/^prsnlctl/, with: own)],
            environment: ["HOME": fixture.folder.path, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"],
            directory: fixture.folder.path)
        return (try await child.waitForExit(), child.stdout, child.stderr)
    }

    /// Without what is different each time.
    private static func plain(_ line: String) -> String {
        line.replacing(/\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?( UTC|Z)?/, with: "TIME")
            .replacing(/\d{4}-\d\d-\d\d/, with: "DAY")
            .replacing(/\d+ (ms|s|min|h|days) ago/, with: "AGO")
            .replacing(/[\d,]+ live/, with: "N live")
            .replacing(/(→|->) [0-9a-f]{8}\b/, with: "→ ID")
            .replacing(/^[0-9a-f]{8}\ /, with: "ID ")
    }
}
