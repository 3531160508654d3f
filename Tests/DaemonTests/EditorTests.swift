import DevServer
import Glibc
import PRSNLCore
import Store
import TestSupport
import Testing

/// What a person writes in an editor is never lost.
@Suite struct EditorTests {
    private let fixture: DaemonFixture
    /// `$EDITOR`: a shell script of the test's, with the file as $1.
    private var editor: String { fixture.folder.file("editor") }

    init() async throws {
        fixture = try DaemonFixture(items: DevItem.generate(count: 3), WriteScene.makeQuick)
        try #require(try await fixture.run(["--once"]).exit == .status(0))
        try #require(mkdir(fixture.folder.file("drafts"), 0o700) == 0)
    }

    private func start(_ arguments: [String], by script: String) throws -> TerminalProcess {
        try TestFile.write("#!/bin/sh\ncd '\(fixture.folder.path)'\n\(script)\n", to: editor, mode: 0o700)
        return try TerminalProcess(
            BuiltProducts.executable("prsnlctl"), ["--config", fixture.configuration] + arguments,
            environment: fixture.environment(["EDITOR": editor, "TMPDIR": fixture.folder.file("drafts")]),
            directory: fixture.folder.path)
    }

    /// The files that are left.
    private var drafts: [String] {
        get async throws {
            let listed = try await ChildProcess.run("/usr/bin/find", [fixture.folder.file("drafts"), "-type", "f"])
            return listed.stdout.split(separator: "\n").map(String.init)
        }
    }

    private func expectKept(
        _ text: String, _ terminal: TerminalProcess, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let files = try await drafts
        try #require(files.count == 1, "\(terminal.shown)", sourceLocation: sourceLocation)
        // The terminal breaks lines.
        let shown = terminal.shown.filter { !$0.isWhitespace }
        #expect(shown.contains(files[0]), "\(terminal.shown)", sourceLocation: sourceLocation)
        #expect(try TestFile.text(files[0]).contains(text), sourceLocation: sourceLocation)
    }

    private var queued: [OutboxEntry.Payload] {
        get throws { try StoreReader(path: fixture.database).outbox(.all, limit: 10).entries.map(\.payload) }
    }

    // MARK: Before it opens

    @Test func whatNoTextCuresIsSaidBeforeTheEditorOpens() async throws {
        let long = String(repeating: "x", count: 501)
        let id = fixture.server.items()[0].id
        for arguments in [
            ["note", "--tag", "c++"], ["note", "--title", long], ["note", "--wait=soon"], ["edit", id, "--wait=soon"],
        ] {
            let terminal = try start(arguments, by: "echo >opened")
            #expect(try await terminal.waitForExit() != .status(0), "\(terminal.shown)")
            #expect(!TestFile.exists(fixture.folder.file("opened")), "\(arguments): \(terminal.shown)")
        }
        #expect(try await drafts.isEmpty)
    }

    /// Only a line that was put there is taken away again.
    @Test func aFirstLineThatLooksLikeARemarkIsThePersons() async throws {
        let note = try start(["note"], by: "echo '# prsnlctl: tips' >\"$1\"")
        #expect(try await note.waitForExit() == .status(0), "\(note.shown)")
        #expect(try queued == [.create(NewItem(note: "# prsnlctl: tips"))])
    }

    // MARK: Refused afterwards

    @Test func wordsOutsideOfTheFrontMatterAreKept() async throws {
        for place in ["cat \"$1\" - <<'END' >new; mv new \"$1\"", "cat - \"$1\" <<'END' >new; mv new \"$1\""] {
            let edit = try start(
                ["edit", fixture.server.items()[0].id], by: "grep -q words \"$1\" || { \(place)\nMy words\nEND\n}")
            #expect(try await edit.waitForExit() == .status(1), "\(edit.shown)")
            try await expectKept("My words", edit)
            for draft in try await drafts { unlink(draft) }
        }
        #expect(try queued.isEmpty)
    }

    @Test func aTextThatIsRefusedIsShownAgain() async throws {
        let note = try start(
            ["note"],
            by: """
                if grep -q '^# prsnlctl: ' "$1"; then sed -i 2q "$1"; exit; fi
                { echo '# A heading of mine'; head -c 50001 /dev/zero | tr '\\0' y; } >"$1"
                """)
        #expect(try await note.waitForExit() == .status(0), "\(note.shown)")
        #expect(note.shown.contains("The editor shows it again."), "\(note.shown)")
        #expect(try queued == [.create(NewItem(note: "# A heading of mine"))])

        let edit = try start(
            ["edit", fixture.server.items()[0].id],
            by: """
                if grep -q '^# prsnlctl: ' "$1"; then sed -i s/c++/cpp/ "$1"; exit; fi
                printf '%s\\n' --- 'title: A new title' 'tags: [c++]' --- >"$1"
                """)
        #expect(try await edit.waitForExit() == .status(0), "\(edit.shown)")
        #expect(
            try queued.contains { payload in
                if case .edit(let edit) = payload {
                    edit.title == "A new title" && edit.tagChange.added == ["cpp"]
                } else {
                    false
                }
            })
        #expect(try await drafts.isEmpty)
    }

    @Test func aTextThatStaysWrongIsKept() async throws {
        let text = "half an hour's work"
        let note = try start(["note"], by: "{ echo \"\(text)\"; head -c 50001 /dev/zero | tr '\\0' y; } >\"$1\"")
        #expect(try await note.waitForExit() == .status(1), "\(note.shown)")
        try await expectKept(text, note)
        #expect(try queued.isEmpty)
    }

    /// A copy that is gone, an editor that fails, bytes that are no text.
    @Test(arguments: ["mv state elsewhere", "exit 1", "printf '\\377' >>\"$1\""])
    func aTextThatCannotBeQueuedIsKept(then: String) async throws {
        let note = try start(["note"], by: "echo 'my words' >\"$1\"\n\(then)")
        #expect(try await note.waitForExit() == .status(1), "\(note.shown)")
        let files = try await drafts
        try #require(files.count == 1, "\(note.shown)")
        #expect(note.shown.filter { !$0.isWhitespace }.contains(files[0]), "\(note.shown)")
        #expect(try TestFile.read(files[0]).starts(with: Array("my words".utf8)))
    }

    @Test func whatIsAdvisedForAKeptTextKeepsTheOptions() async throws {
        let note = try start(
            ["note", "--title", "A title", "--tag", "later"], by: "echo 'my words' >\"$1\"\nmv state elsewhere")
        _ = try await note.waitForExit()
        let shown = note.shown.filter { !$0.isWhitespace }
        #expect(shown.contains("note--title'Atitle'--taglater-<"), "\(note.shown)")
    }

    /// Whether or not the copy has got the change meanwhile: what the user has not seen is not overwritten.
    @Test func whatWasChangedWhileTheEditorWasOpenIsNotOverwritten() async throws {
        let id = fixture.server.items()[0].id
        let other =
            "'\(try BuiltProducts.executable("prsnlctl"))' --config '\(fixture.configuration)' edit \(id) --title Theirs"
        let edit = try start(["edit", id], by: "\(other)\nsed -i 's/^title: .*/title: Mine/' \"$1\"")
        #expect(try await edit.waitForExit() == .status(1), "\(edit.shown)")
        #expect(edit.shown.filter { !$0.isWhitespace }.contains("waschangedwhileyouwrote"), "\(edit.shown)")
        try await expectKept("title: Mine", edit)
        #expect(try queued == [.edit(ItemEdit(title: "Theirs"))])
    }

    @Test(.enabled(if: TinyDisk.canBeMade, "needs root, for a disk of its own"))
    func aTextForWhichTheDiskHasNoRoomIsKept() async throws {
        let disk = try TinyDisk(megabytes: 16)
        let full = try DaemonFixture(items: [], database: disk.file("prsnl.sqlite"), WriteScene.makeQuick)
        try #require(try await full.run(["--once"]).exit == .status(0))
        try TestFile.write(try TestFile.read(full.configuration), to: fixture.configuration)
        try disk.fill()
        let note = try start(["note"], by: "echo 'my words' >\"$1\"")
        #expect(try await note.waitForExit() == .status(1), "\(note.shown)")
        try await expectKept("my words", note)
    }

    // MARK: Signals

    @Test(arguments: [SIGTERM, SIGHUP])
    func aSignalWhileTheEditorIsOpenLeavesTheText(number: Int32) async throws {
        let note = try start(["note"], by: "echo 'my words' >\"$1\"; echo open; sleep 600")
        try await note.waitUntilShown("open")
        note.signal(number)
        #expect(try await note.waitForExit() == .signal(number), "\(note.shown)")
        try await expectKept("my words", note)
    }

    /// The key goes to the editor as well.
    @Test func controlCInTheEditorLeavesTheText() async throws {
        let note = try start(["note"], by: "echo 'my words' >\"$1\"; echo open; exec sleep 600")
        try await note.waitUntilShown("open")
        try note.type("\u{3}")
        #expect(try await note.waitForExit() == .status(1), "\(note.shown)")
        try await expectKept("my words", note)
    }

    /// A daemon that hangs, and a person who has waited long enough.
    @Test func controlCWhileTheDaemonIsWaitedForLeavesTheText() async throws {
        let daemon = try await fixture.startReady()
        let note = try start(["note"], by: "echo 'my words' >\"$1\"; kill -STOP \(daemon.processID)")
        try await note.waitUntilShown("the daemon is not responding; waiting")
        try note.type("\u{3}")
        #expect(try await note.waitForExit() == .signal(SIGINT), "\(note.shown)")
        // It may be on disk, and must not be given again unseen.
        #expect(note.shown.contains("It is not known whether it is on disk. Look with"), "\(note.shown)")
        try await expectKept("my words", note)
        daemon.signal(SIGCONT)
        #expect(try await daemon.terminate() == .status(0))
    }

    @Test func aDaemonThatDiesWhileTheEditorIsOpenCostsNoText() async throws {
        let daemon = try await fixture.startReady()
        let note = try start(["note"], by: "echo 'my words' >\"$1\"; kill -KILL \(daemon.processID)")
        #expect(try await note.waitForExit() == .status(0), "\(note.shown)")
        #expect(try queued == [.create(NewItem(note: "my words"))])
        #expect(try await drafts.isEmpty)
    }
}
