import DevServer
import Glibc
import PRSNLCore
import TestSupport
import Testing

@testable import Store

/// `prsnlctl changes` with the real binaries: what readers see over stops, kills and restored files.
@Suite struct ChangesCommandTests {
    private func makeQuick(_ configuration: inout DevServer.Configuration) { WriteScene.makeQuick(&configuration) }

    private func running() async throws -> (DaemonFixture, ChildProcess) {
        let fixture = try DaemonFixture(items: DevItem.generate(count: 4), makeQuick)
        let daemon = try await fixture.startReady()
        try await fixture.waitUntilComplete()
        return (fixture, daemon)
    }

    private func note(_ text: String, _ fixture: DaemonFixture) async throws {
        let ended = try await fixture.control(["note", "-", "--wait"], input: text)
        #expect(ended.exit == .status(0), "\(ended)")
    }

    @Test func aReaderSeesEachChangeAsItIsCommitted() async throws {
        let (fixture, daemon) = try await running()
        let reader = try fixture.startControl(["changes", "--follow", "--json"])
        _ = try await reader.waitForLine(containing: #""kind":"pulled""#)
        try await note("the first of them", fixture)
        _ = try await reader.waitForLine(containing: "the first of them")
        // Over a restart, and while no daemon runs.
        daemon.signal(SIGTERM)
        #expect(try await daemon.waitForExit() == .status(0))
        #expect(try await fixture.control(["note", "-"], input: "the second of them").exit == .status(0))
        _ = try await reader.waitForLine(containing: "the second of them")
        let again = try await fixture.startReady()
        try await note("the third of them", fixture)
        _ = try await reader.waitForLine(containing: "the third of them")
        reader.signal(SIGINT)
        #expect(try await reader.waitForExit() == .status(0))
        let lines = reader.stdout.split(separator: "\n").map(String.init)
        #expect(lines[0].hasPrefix(#"{"epoch":""#) && lines[0].hasSuffix(#""from":0,"to":1}"#))
        #expect(lines.dropFirst().map(Self.seq) == Array(1..<lines.count))
        // What it has seen is what the file has.
        let all = try await fixture.control("changes", "--json").stdout.split(separator: "\n").map(String.init)
        #expect(Array(all.dropFirst().prefix(lines.count - 1)) == Array(lines.dropFirst()))
        #expect(again.pollExit() == nil)
    }

    /// Of one that is new, of one of a URL that was there, and of one that was given up before it was sent.
    @Test func aCaptureIsAddedOnceAndNeverDeleted() async throws {
        let (fixture, daemon) = try await running()
        let known = try #require(fixture.server.items().first { $0.url != nil })
        try await note("a new note", fixture)
        #expect(try await fixture.control("capture", "--wait", try #require(known.url)).exit == .status(0))
        #expect(try await fixture.control("sync").exit == .status(0))
        daemon.signal(SIGTERM)
        #expect(try await daemon.waitForExit() == .status(0))
        #expect(try await fixture.control(["note", "-"], input: "never sent").exit == .status(0))
        #expect(try await fixture.control("undo").exit == .status(0))
        let lines = try await fixture.control("changes", "--json").stdout.split(separator: "\n").map(String.init)
        let made = try #require(fixture.server.captures.first { $0.url == nil }).id
        func count(_ kind: String, _ more: String = "") -> Int {
            lines.count { $0.contains(#""kind":"\#(kind)""#) && $0.contains(more) }
        }
        #expect(count("added") == 3 && count("added", #""item_id":"local-"#) == 3, "\(lines)")
        #expect(count("identified") == 2 && count("deleted") == 1 && count("deleted", "never sent") == 1, "\(lines)")
        for id in [made, known.id] { #expect(count("identified", #""new":{"id":"\#(id)"}}"#) == 1, "\(lines)") }
        let text = try await fixture.control("changes").stdout
        #expect(text.contains(#" "a new note" as \#(made.prefix(8))"# + "\n"), "\(text)")
        let status = try await fixture.control("verify", "--file")
        #expect(status.exit == .status(0), "\(status)")
    }

    /// At least once and in order, whichever process is killed, and what is repeated has the same number.
    @Test func killsOfAllThreeLoseNothing() async throws {
        var random = SeededRandom()
        let (fixture, first) = try await running()
        var daemon = first
        let taken = fixture.folder.file("taken")
        let command = [
            "changes", "--follow", "--cursor", "killed", "--batch", "3", "--", "sh", "-c",
            "cat >>'\(taken)'; exec sleep 0.02",
        ]
        var reader = try fixture.startControl(command)
        var commandKills = 0
        for round in 0..<LongSearch.cases(40, of: 1_500) {
            #expect(try await fixture.control(["note", "-"], input: "note \(round)").exit == .status(0))
            switch Int.random(in: 0..<3, using: &random) {
            case 0:
                reader.signal(SIGKILL)
                _ = try await reader.waitForExit()
                reader = try fixture.startControl(command)
            case 1:
                daemon.signal(SIGKILL)
                _ = try await daemon.waitForExit()
                daemon = try await fixture.startReady()
            default:
                // Not one of a batch three times: that is a refusal.
                let children = try? TestFile.text("/proc/\(reader.processID)/task/\(reader.processID)/children")
                guard round > 8 * commandKills, let child = children?.split(separator: " ").first.flatMap({ pid_t($0) })
                else { break }
                kill(child, SIGKILL)
                commandKills += 1
            }
        }
        daemon.signal(SIGTERM)
        #expect(try await daemon.waitForExit() == .status(0))
        let newest = try await fixture.control("changes", "--json").stdout.split(separator: "\n").last.map(String.init)
        let last = Self.seq(try #require(newest))
        try await eventually("the reader to be at the end") {
            (try? TestFile.text(taken))?.contains("{\"seq\":\(last),") == true
        }
        var seen: [Int: String] = [:]
        for line in try TestFile.text(taken).split(separator: "\n").map(String.init) {
            let seq = Self.seq(line)
            if let before = seen[seq] { #expect(before == line) } else { #expect(seq == seen.count + 1) }
            seen[seq] = line
        }
        #expect(seen.count >= last)
        reader.signal(SIGINT)
    }

    /// One bad title stops no hook.
    @Test func aRowThatIsRefusedAgainAndAgainIsSetAside() async throws {
        let (fixture, daemon) = try await running()
        for text in ["good one", "bad one", "good two"] { try await note(text, fixture) }
        let taken = fixture.folder.file("taken")
        let script =
            "cat >'\(taken).new'; if grep -q 'bad one' '\(taken).new' && [ ! -e '\(taken).heal' ]; then exit 1; fi; cat '\(taken).new' >>'\(taken)'"
        let once = try await fixture.control("changes", "--cursor", "hook", "--", "sh", "-c", script)
        #expect(once.exit == .status(1))
        let reader = try fixture.startControl(["changes", "--follow", "--cursor", "hook", "--", "sh", "-c", script])
        _ = try await reader.waitForErrorLine(containing: "is set aside")
        try await eventually("the good ones to be taken") {
            (try? TestFile.text(taken)).map { $0.contains("good one") && $0.contains("good two") } == true
        }
        reader.signal(SIGINT)
        #expect(try await reader.waitForExit() == .status(0))
        let failed = try await fixture.control("changes", "--failed", "--cursor", "hook").stdout
        #expect(failed.contains("bad one") && !failed.contains("good"))
        #expect(try await fixture.control("status").stderr.contains("The reader hook has set"))
        try TestFile.write("", to: taken + ".heal")
        #expect(
            try await fixture.control("changes", "--retry-failed", "--cursor", "hook", "--", "sh", "-c", script).exit
                == .status(0))
        #expect(try await fixture.control("changes", "--failed", "--cursor", "hook").stdout == "")
        #expect(try TestFile.text(taken).contains("bad one"))
        #expect(daemon.pollExit() == nil)
    }

    /// EX_TEMPFAIL: more often than a refusal would be tried.
    @Test func whatACommandCannotTakeNowIsNeverSetAside() async throws {
        let (fixture, daemon) = try await running()
        try await note("for later", fixture)
        let taken = fixture.folder.file("taken")
        let script = "echo >>'\(taken).runs'; [ $(wc -l <'\(taken).runs') -gt 4 ] || exit 75; cat >>'\(taken)'"
        let reader = try fixture.startControl(["changes", "--follow", "--cursor", "later", "--", "sh", "-c", script])
        try await eventually("the row to be taken") {
            (try? TestFile.text(taken))?.contains("for later") == true
        }
        reader.signal(SIGINT)
        #expect(try await reader.waitForExit() == .status(0))
        #expect(try await fixture.control("changes", "--failed", "--cursor", "later").stdout == "")
        #expect(daemon.pollExit() == nil)
    }

    /// The command is told, and what it had comes again.
    @Test func aStopEndsTheCommandTooAndCountsAsNoRefusal() async throws {
        let (fixture, daemon) = try await running()
        let runs = fixture.folder.file("runs")
        let command = [
            "changes", "--follow", "--cursor", "stopped", "--batch", "1", "--", "sh", "-c",
            "cat >>'\(runs)'; exec sleep 1000",
        ]
        for round in 1...4 {
            let reader = try fixture.startControl(command)
            try await eventually("the command to have the row") {
                (try? TestFile.text(runs))?.split(separator: "\n").count == round
            }
            reader.signal(SIGTERM)
            #expect(try await reader.waitForExit() == .status(0))
        }
        let lines = try TestFile.text(runs).split(separator: "\n")
        #expect(Set(lines).count == 1 && lines.count == 4, "\(lines)")
        #expect(try await fixture.control("changes", "--failed", "--cursor", "stopped").stdout == "")
        #expect(daemon.pollExit() == nil)
    }

    @Test func aPlaceThatCannotBeReadIsSaidAndNeverWaitedFor() async throws {
        let (fixture, daemon) = try await running()
        #expect(try await fixture.control("changes", "--cursor", "whole").exit == .status(0))
        let found = try await ChildProcess.run("/usr/bin/find", [fixture.folder.path, "-name", "whole"])
        let places = String(found.stdout.dropLast("/whole\n".count))
        #expect(mkfifo(places + "/pipe", 0o600) == 0)
        try TestFile.write("nothing\n", to: places + "/broken")
        let piped = try await fixture.control("changes", "--cursor", "pipe")
        #expect(piped.exit == .status(1) && piped.stderr.contains("cursors/pipe cannot be read"), "\(piped)")
        let status = try await fixture.control("status").stderr
        #expect(status.contains("The reader pipe: ") && status.contains("The reader broken: "), "\(status)")
        #expect(!status.contains("whole"))
        let metrics = try await fixture.control("metrics").stdout
        #expect(metrics.contains("\nprsnld_readers_behind_changes 0\n"), "\(metrics)")
        #expect(daemon.pollExit() == nil)
    }

    @Test func whatMayHaveBeenMissedIsNeverAnEmptyList() async throws {
        let (fixture, daemon) = try await running()
        for text in ["one", "two", "three"] { try await note(text, fixture) }
        #expect(
            try await fixture.control("changes", "--cursor", "old", "--batch", "1").stdout.contains(
                "  #1  the first pull has ended: "))
        daemon.signal(SIGTERM)
        #expect(try await daemon.waitForExit() == .status(0))
        let epoch = try #require(
            try Connection(path: fixture.database, mode: .readOnly).text("SELECT epoch FROM change_state"))
        for place in ["999", "\(epoch):999", "0123456789abcdef:1"] {
            let missed = try await fixture.control("changes", "--since", place)
            #expect(missed.exit == .status(4) && missed.stdout.isEmpty, "\(missed)")
        }
        try Connection(path: fixture.database, mode: .readWrite).execute("DELETE FROM change_log WHERE seq < 4")
        let gap = try await fixture.control("changes", "--cursor", "old")
        #expect(gap.exit == .status(4) && gap.stderr.contains("from #4 on only"), "\(gap)")
        #expect(try await fixture.control("changes", "--since", "2020-01-01").exit == .status(4))
        let follower = try fixture.startControl(["changes", "--follow", "--json", "--since", "1"])
        _ = try await follower.waitForLine(containing: #"{"missed":"gap","epoch":"\#(epoch)","from":3}"#)
        _ = try await follower.waitForLine(containing: #"{"seq":4,"#)
        follower.signal(SIGINT)
        // Everything again, and then no hole.
        for ignored in [
            ["--reread", "--since", "3"], ["--reread", "--batch", "2"], ["--failed", "--cursor", "old", "--follow"],
        ] { #expect(try await fixture.control(["changes"] + ignored).exit == .status(2), "\(ignored)") }
        let since = try await fixture.control("changes", "--since", "x")
        #expect(since.stderr.contains("the number of a change or EPOCH:NUMBER"), "\(since)")
        for name in ["a/b", "old.failed", "old.lock", "old.new"] {
            let refused = try await fixture.control("changes", "--cursor", name)
            #expect(refused.exit == .status(2) && refused.stderr.contains("changes --help"), "\(refused)")
        }
        let shown = try await fixture.control("changes", "--reread").stdout
        #expect(shown.contains("  present ") && shown.contains("  \"two\"\n"), "\(shown)")
        let reread = try await fixture.control("changes", "--reread", "--cursor", "old", "--json")
        #expect(reread.exit == .status(0))
        let present = reread.stdout.split(separator: "\n").filter { $0.contains(#""kind":"present""#) }
        #expect(present.count == 7)
        #expect(try await fixture.control("changes", "--cursor", "old").stdout == "")
        let matching = try await fixture.control("changes", "--reread", "--match", "two OR three", "--json")
        #expect(matching.stdout.split(separator: "\n").dropFirst().allSatisfy { $0.contains(#""kind":"present""#) })
        #expect(matching.stdout.split(separator: "\n").count == 3, "\(matching)")
    }

    @Test func someOfThoseThatAQueryFindsAreFollowedByTheRest() async throws {
        let (fixture, daemon) = try await running()
        for text in ["heron one", "other", "heron two", "other", "heron three", "other"] {
            try await note(text, fixture)
        }
        let all = try await fixture.control("changes", "--match", "heron", "--json").stdout
        let expected = all.split(separator: "\n").dropFirst().map(String.init)
        #expect(expected.count >= 3, "\(all)")
        var seen: [String] = []
        for _ in 0...expected.count {
            let some = try await fixture.control(
                "changes", "--match", "heron", "--batch", "2", "--json", "--cursor", "some")
            #expect(some.exit == .status(0))
            let lines = some.stdout.split(separator: "\n").dropFirst().map(String.init)
            #expect(lines.count == min(2, expected.count - seen.count), "\(some)")
            seen += lines
        }
        #expect(seen == expected)
        for words in ["(", ")"] {
            let refused = try await fixture.control("changes", "--match", words)
            #expect(refused.exit == .status(2) && refused.stderr.contains("nothing to search for"), "\(refused)")
        }
        let early = try await fixture.control("changes", "--since", "2999-01-01")
        #expect(early.exit == .status(4) && early.stdout.isEmpty, "\(early)")
        let now = try await fixture.control("changes", "--since", "\(TimeSource.system.now())")
        #expect(now.exit == .status(0) && now.stdout.isEmpty, "\(now)")
        #expect(daemon.pollExit() == nil)
    }

    @Test func whoIsBehindForDaysAndWhoIsTooEarlyIsTold() async throws {
        let (fixture, daemon) = try await running()
        #expect(try await fixture.control("changes", "--cursor", "slow").exit == .status(0))
        try await note("the first of them", fixture)
        daemon.signal(SIGTERM)
        #expect(try await daemon.waitForExit() == .status(0))
        #expect(try await !fixture.control("status").stderr.contains("The reader slow"))
        let file = try Connection(path: fixture.database, mode: .readWrite)
        let old = TimeSource.system.now().advanced(by: .seconds(-16 * 86_400))
        try file.execute("UPDATE change_log SET at = '\(old)' WHERE seq > 1")
        let status = try await fixture.control("status").stderr
        #expect(status.contains("behind, the first of"), "\(status)")
        // As before the end of the first pull.
        try file.execute("DELETE FROM change_log; UPDATE change_state SET items_before = NULL")
        let early = try await fixture.control("changes")
        #expect(early.exit == .status(0) && early.stdout == "" && early.stderr.contains("the first pull"), "\(early)")
        for words in [["list"], ["list", "--ids"], ["search", "nowhere"], ["tags"]] {
            let list = try await fixture.control(words)
            #expect(list.stderr.contains("The first pull has not ended. So far the copy has"), "\(list)")
        }
    }

    /// A reader of lines can read it.
    @Test func anErrorAmongLinesIsALine() async throws {
        let fixture = try DaemonFixture(items: [], makeQuick)
        let ended = try await fixture.control("changes", "--json")
        #expect(ended.exit == .status(1))
        #expect(ended.stdout.hasPrefix(#"{"error":{"code":"no_database","#), "\(ended)")
        #expect(ended.stdout.filter { $0 == "\n" }.count == 1 && ended.stdout.hasSuffix("}\n"), "\(ended)")
    }

    /// With a daemon that wakes it, and without one.
    @Test func aReaderEndsWithTheOneWhoReadsIt() async throws {
        let (fixture, daemon) = try await running()
        let program = try BuiltProducts.executable("prsnlctl")
        let line = "exec '\(program)' --config '\(fixture.configuration)' changes --follow --json"
        func endsWithHead() async throws {
            let reader = try ChildProcess(
                "/bin/sh", ["-c", "(\(line)) | head -n 1"], environment: fixture.environment([:]),
                directory: fixture.folder.path)
            #expect(try await reader.waitForExit() == .status(0))
            #expect(reader.stdout.hasPrefix(#"{"epoch":""#))
        }
        try await endsWithHead()
        daemon.signal(SIGTERM)
        #expect(try await daemon.waitForExit() == .status(0))
        try await endsWithHead()
    }

    /// The numbers are given again, for other changes.
    @Test func aFileThatWasPutBackIsAnotherHistory() async throws {
        let (fixture, daemon) = try await running()
        try await note("before the backup", fixture)
        daemon.signal(SIGTERM)
        #expect(try await daemon.waitForExit() == .status(0))
        try Connection(path: fixture.database, mode: .readWrite).checkpoint()
        let backup = try TestFile.read(fixture.database)
        // Nothing is sent after it: only what the server has new.
        func pull() async throws {
            #expect(try await fixture.run(["--once"]).exit == .status(0))
        }
        _ = fixture.server.addNew()
        try await pull()
        #expect(try await fixture.control("changes", "--cursor", "kept", "--json").exit == .status(0))
        for name in ["-wal", "-shm"] { unlink(fixture.database + name) }
        try TestFile.write(backup, to: fixture.database)
        _ = fixture.server.addNew(count: 2)
        try await pull()
        let missed = try await fixture.control("changes", "--cursor", "kept")
        #expect(missed.exit == .status(4) && missed.stdout.isEmpty, "\(missed)")
    }

    /// Another database, and a name that would be another file.
    @Test func aPlaceIsOfOneDatabase() async throws {
        let (fixture, daemon) = try await running()
        #expect(try await fixture.control("changes", "--cursor", "mine").exit == .status(0))
        daemon.signal(SIGTERM)
        #expect(try await daemon.waitForExit() == .status(0))
        let copy = fixture.folder.file("copy.sqlite")
        try TestFile.write(try TestFile.read(fixture.database), to: copy)
        let other = try await fixture.control("--database", copy, "changes", "--cursor", "mine")
        #expect(other.exit == .status(2) && other.stderr.contains("Take another --cursor"), "\(other)")
        // A place that is given counts, though nothing has come since.
        #expect(try await fixture.control("changes", "--cursor", "later", "--since", "1").stdout == "")
        #expect(try await fixture.control("changes", "--cursor", "later").stdout == "")
        for name in ["../x", "", "a/b", "-x"] {
            #expect(try await fixture.control("changes", "--cursor", name).exit == .status(2), "\(name)")
        }
        #expect(try await fixture.control("changes", "--", "true").exit == .status(2))
        let pieces = try await fixture.control("changes", "--follow", "--batch", "3")
        #expect(pieces.exit == .status(2) && pieces.stderr.contains("is for a command"), "\(pieces)")
        // Before there is anything that it could be given.
        #expect(
            try await fixture.control("changes", "--follow", "--cursor", "mine", "--", "/no/such/program").exit
                == .status(2))
        #expect(
            try await fixture.control("changes", "--cursor", "mine", "--since", "0", "--", "/no/such/program").exit
                == .status(2))
    }

    private static func seq(_ line: String) -> Int {
        Int(line.dropFirst(#"{"seq":"#.count).prefix { $0.isNumber }) ?? -1
    }
}
