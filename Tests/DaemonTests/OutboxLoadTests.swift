import Commands
import Control
import DevServer
import Glibc
import PRSNLCore
import Requests
import Store
import TestSupport
import Testing

/// Writes are made and sent by programs that are killed at random moments, again and again.
@Suite struct OutboxLoadTests {
    @Test func killsUnderLoadLoseNothingAndDoubleNothing() async throws {
        var load = try await WriteLoad(SeededRandom())
        while load.kills < LongSearch.cases(120, of: 1_000) { try await load.liveAndDie() }
        try await load.finish()
    }
}

/// What was asked for, life after life, and what the server must have in the end.
private struct WriteLoad {
    /// An item that was made here.
    private struct Made {
        var isAcknowledged = false
        /// Its local id; known once it is acknowledged.
        var id: String?
        var edit: Change?
        var deletion: Change?
    }

    private struct Change {
        var isAcknowledged = false
        var summary = ""
    }

    private enum Step {
        case create(String)
        case edit(String)
        case delete(String)
    }

    private let scene: WriteScene
    private let victim = Victim()
    private var random: SeededRandom
    /// By URL or text.
    private var made: [String: Made] = [:]
    /// Keys of what can be edited or deleted.
    private var names: [String] = []
    private var count = 0
    private(set) var kills = 0
    private var batches = 0

    init(_ random: SeededRandom) async throws {
        self.random = random
        scene = try await WriteScene()
    }

    // MARK: A life

    /// Starts a daemon or a command, which is killed while it works.
    mutating func liveAndDie() async throws {
        if Int.random(in: 0..<10, using: &random) == 0 { return try await killCommand() }
        let isKilledByServer = Int.random(in: 0..<4, using: &random) > 0
        victim.forget()
        let fault = isKilledByServer ? killByServer() : nil
        let daemon = try scene.fixture.start()
        victim.name(daemon.processID)
        for _ in 0..<Int.random(in: 1...2, using: &random) where daemon.pollExit() == nil {
            try await write(to: daemon, waitingForAnswer: isKilledByServer)
        }
        // A server that is asked no more kills no daemon.
        if isKilledByServer { try await untilDead(daemon) }
        Victim.spend(Int.random(in: 0..<200_000, using: &random))
        daemon.signal(SIGKILL)
        if try await daemon.waitForExit() == .signal(SIGKILL) { kills += 1 }
        fault?.remove()
    }

    private mutating func killByServer() -> ScriptedFault {
        let turns = Int.random(in: 0..<200_000, using: &random)
        let isAtWrite = Bool.random(using: &random)
        return scene.server.script(
            .perform { [victim] in victim.kill(after: turns) }, on: isAtWrite ? .change : .any,
            skip: Int.random(in: 0...(isAtWrite ? 5 : 15), using: &random))
    }

    private func untilDead(_ daemon: ChildProcess) async throws {
        try await eventually("the daemon to die, or to have nothing left to send") {
            try daemon.pollExit() != nil || scene.waiting == 0
        }
    }

    private mutating func write(to daemon: ChildProcess, waitingForAnswer isAwaited: Bool) async throws {
        let steps = drawSteps()
        let connection = try await eventually("the control socket, or the daemon's end") { () -> Connected? in
            if daemon.pollExit() != nil { return .dead }
            do throws(UserFacingError) {
                return .alive(Box(try ControlClient(path: scene.fixture.socket)))
            } catch {
                return nil
            }
        }
        guard case .alive(let box) = connection else { return forget(steps) }
        batches += 1
        do throws(UserFacingError) {
            try box.client.send(WritesRequest(steps.map { WriteRequest(draft($0)) }))
            if !isAwaited {
                Victim.spend(Int.random(in: 0..<2_000_000, using: &random))
                daemon.signal(SIGKILL)
            }
            let report = try box.client.receive(WritesRequest.self).get()
            for (step, write) in zip(steps, report.writes) { acknowledge(step, write) }
        } catch {
            #expect(error.code == .daemonNotRunning, "\(error)")
        }
    }

    private enum Connected: Sendable {
        case alive(Box)
        case dead
    }

    /// Used by one task at a time.
    private final class Box: @unchecked Sendable {
        var client: ControlClient
        init(_ client: consuming ControlClient) { self.client = client }
    }

    /// `prsnlctl` writes the file itself while no daemon runs.
    private mutating func killCommand() async throws {
        let step = drawCreation()
        guard case .create(let name) = step else { return }
        let arguments = name.hasPrefix("https:") ? ["capture", name] : ["note", name]
        let command = try scene.fixture.startControl(arguments)
        let pause = Duration.microseconds(Int.random(in: 0..<40_000, using: &random))
        // The moment of the kill, which is what is drawn here.
        try await Task.sleep(for: pause)
        command.signal(SIGKILL)
        let exit = try await command.waitForExit()
        if exit == .signal(SIGKILL) { kills += 1 }
        if command.stdout.hasPrefix("queued #") { made[name]?.isAcknowledged = true }
        #expect(exit != .status(0) || command.stdout.hasPrefix("queued #"), "\(command.stderr)")
    }

    // MARK: What is asked for

    private mutating func drawSteps() -> [Step] {
        (0..<Int.random(in: 1...3, using: &random)).map { _ in
            guard !names.isEmpty, Int.random(in: 0..<10, using: &random) < 4 else { return drawCreation() }
            let name = names[Int.random(in: 0..<names.count, using: &random)]
            guard let item = made[name], item.deletion == nil else { return drawCreation() }
            if item.edit == nil, Bool.random(using: &random) {
                count += 1
                made[name]?.edit = Change(summary: "summary \(count) of the load")
                return .edit(name)
            }
            made[name]?.deletion = Change()
            return .delete(name)
        }
    }

    private mutating func drawCreation() -> Step {
        count += 1
        let name =
            Bool.random(using: &random)
            ? "https://example.com/load/\(count)" : "note \(count) of the load\nwith a second line"
        made[name] = Made()
        return .create(name)
    }

    private func draft(_ step: Step) -> WriteDraft {
        switch step {
        case .create(let name):
            name.hasPrefix("https:") ? .create(NewItem(url: name)) : .create(NewItem(note: name, tags: [tag(name)]))
        case .edit(let name): .edit(item: made[name]?.id ?? "", ItemEdit(summary: made[name]?.edit?.summary))
        case .delete(let name): .delete(item: made[name]?.id ?? "")
        }
    }

    /// Of its own, so that a lookup need not read the texts of all the other notes.
    private func tag(_ name: String) -> String { "load \(name.split(separator: " ")[1])" }

    private mutating func acknowledge(_ step: Step, _ write: WriteReport.Write) {
        #expect(write.outcome == .accepted, "\(step): \(String(describing: write.error))")
        switch step {
        case .create(let name):
            made[name]?.isAcknowledged = true
            made[name]?.id = write.itemID
            names.append(name)
        case .edit(let name): made[name]?.edit?.isAcknowledged = true
        case .delete(let name): made[name]?.deletion?.isAcknowledged = true
        }
    }

    /// They were never handed over.
    private mutating func forget(_ steps: [Step]) {
        for step in steps {
            switch step {
            case .create(let name): made[name] = nil
            case .edit(let name): made[name]?.edit = nil
            case .delete(let name): made[name]?.deletion = nil
            }
        }
    }

    // MARK: The end

    /// Lets everything drain, and compares.
    func finish() async throws {
        #expect(try await scene.live() == false)
        let summary = try StoreReader(path: scene.fixture.database).summary()
        #expect(summary.outbox.parked == 0)
        let server = scene.server
        var captures: [String: [DevServer.Capture]] = [:]
        for capture in server.captures { captures[capture.url ?? capture.content ?? "", default: []].append(capture) }
        let edits = Dictionary(grouping: server.requests().filter { $0.method == "PATCH" }, by: \.body)
        #expect(edits.values.allSatisfy { $0.count == 1 }, "edits that were applied again")
        for (name, item) in made {
            let found = captures[name] ?? []
            let wasDeleted = item.deletion != nil
            #expect(found.count <= 1, "\(name) was doubled")
            if item.isAcknowledged, !wasDeleted { #expect(found.count == 1, "\(name) was lost") }
            guard let id = found.first?.id else { continue }
            let there = server.item(id)
            if item.deletion?.isAcknowledged ?? false { #expect(there == nil, "the deletion of \(name) was lost") }
            if !wasDeleted { #expect(there != nil, "\(name) is gone") }
            if let there, let edit = item.edit, edit.isAcknowledged {
                #expect(there.summary == edit.summary, "the edit of \(name) was lost")
            }
        }
        print(
            "\(kills) kills, \(batches) batches, \(made.count) creations of which \(server.captures.count) arrived, "
                + "\(server.appliedWrites.updated) edits, \(server.appliedWrites.deleted) deletions, "
                + "\(server.requestCount) requests")
        try await scene.expectSameTimeline()
    }
}
