import Configuration
import Console
import Control
import PRSNLCore
import Store
import Synchronization

/// `prsnlctl doctor`: everything that can be looked at, whatever else is broken.
enum DoctorCommand {
    static let command = Command(
        early: "doctor", "Check everything from the configuration to the service, and say what to do.",
        options: [
            CommandOption("--repair", nil, "Repair the files beside the database first, as root or as its owner."),
            CommandOption("--rebuild-index", nil, "Build the index for `prsnlctl search` again first."),
        ], asks: [RebuildIndexRequest.self]
    ) { arguments, environment throws(UserFacingError) in
        let file = try CommandContext.configurationFile(arguments)
        let (loaded, problems) = LoadedConfiguration.examine(
            file: file, environment: environment, skippingUnreadable: true)
        let context = CommandContext(arguments, environment, loaded, file: file)
        if arguments.has("--rebuild-index") {
            let rebuilt = try context.answer(RebuildIndexRequest())
            context.say(
                rebuilt.notIndexed > 0
                    ? "the index is built again; `prsnlctl status` shows how many items are left"
                    : "the index was built again")
        }
        let scene = DoctorScene(context, loaded, problems, isToRepair: arguments.has("--repair"))
        let report = DoctorReport(Examination.findings(scene, say: context.say), now: scene.now)
        // With the commands of the daemon that was found.
        try context.write(report, of: scene.unit)
        return report.exitCode
    }
}

/// Builds the full-text index again: the daemon does it in the background, and prsnlctl at once where none runs.
struct RebuildIndexRequest: Request, BareRequest {
    typealias Answer = RebuildIndexReport
    static let command = "rebuild_index"
    var isChange: Bool { true }

    func answer(_ context: RequestContext) async throws(UserFacingError) -> RebuildIndexReport? {
        guard context.engine?.keepsSearchIndex ?? true else {
            throw UserFacingError(
                .usage, "The daemon keeps no index: its configuration has search_index = no.",
                consequence: "Nothing was changed.",
                recoverySuggestion: "Set search_index = yes, then `systemctl reload prsnld`.")
        }
        return try await context.withStore(isChange: false) { store throws(UserFacingError) in
            try await store.rebuildIndex()
            if context.daemon != nil {
                store.committed.signal()
            } else {
                while try await store.indexSome(now: context.now, uptime: context.time.uptime) == .more {}
            }
            return RebuildIndexReport(notIndexed: try await store.searchState().notIndexed)
        }
    }

    func remark(_ answer: RebuildIndexReport, path: String) -> String? { Remark.change(true, path: path) }
}

package struct RebuildIndexReport: ControlReply {
    package static let type = "rebuild_index"

    package var schemaVersion = 1
    package var notIndexed: Int
}

/// All checks of `prsnlctl doctor`, each with a thread and a deadline of its own.
enum Examination {
    /// Long enough for a disk that sleeps.
    private static let usual: Duration = .seconds(10)
    /// A file of that many bytes is read in a second or so.
    private static let noticeSize: Int64 = 512 << 20

    /// Whether a thread of a check has not ended. The process then ends by `_exit`.
    static var isUnderWay: Bool { checksUnderWay.load(ordering: .acquiring) > 0 }

    /// Side by side, so that all of it takes as long as the slowest.
    ///
    /// - Parameter say: tells what takes long.
    static func findings(_ scene: DoctorScene, say: (Advice) -> Void) -> [DoctorReport.Finding] {
        // The daemon's word is not enough for root.
        let other = scene.otherDatabase.map {
            DoctorReport.Finding.warning(
                .file, "database", "the daemon says that it works on \($0); root looks at \(scene.database) only",
                "Set database in the configuration to the file of the daemon, or give the command as its user.")
        }
        let known =
            ConfigurationCheck(scene).findings + [scene.repair].compactMap(\.self)
            + (scene.files?.findings ?? [.notChecked(.file, "database", "the disk did not answer in time")])
            + [other].compactMap(\.self)
        let checks = [
            Running(.credentials, "key_file") { CredentialsCheck(scene).findings },
            Running(.server, "way", within: ServerCheck.limit + usual) { ServerCheck(scene).findings },
            Running(.server, "account", within: ServerCheck.limit + usual) { CopyCheck(scene).findings },
            Running(.file, "schema") { DatabaseCheck(scene).findings },
            Running(.file, "integrity", within: IntegrityCheck.limit + usual) {
                IntegrityCheck(scene)?.findings ?? []
            },
            Running(.copy, "search") { IndexCheck(scene).findings },
            Running(.machine, "disk") { MachineCheck(scene).findings },
            Running(.service, "unit") { ServiceCheck(scene).findings },
        ]
        if let size = scene.status?.file.size, size > noticeSize {
            say("reading all of \(scene.database) may take up to \(IntegrityCheck.limit)")
        }
        return known + checks.flatMap { $0.findings() }
    }

    /// One check under way.
    private struct Running {
        private let group: DoctorReport.Group
        private let name: String
        private let limit: Duration
        private let end: ContinuousClock.Instant
        private let work: BoundedCheck<[DoctorReport.Finding]>

        init(
            _ group: DoctorReport.Group, _ name: String, within limit: Duration = usual,
            _ body: @escaping @Sendable () -> [DoctorReport.Finding]
        ) {
            self.group = group
            self.name = name
            self.limit = limit
            end = .now + limit
            work = BoundedCheck(body)
        }

        func findings() -> [DoctorReport.Finding] {
            work.value(by: end) ?? [.notChecked(group, name, "it did not end within \(limit)")]
        }
    }
}

/// A check of `doctor`: what it looks at, and what follows from that. Judging is apart from looking, so that tests reach every
/// level without a broken machine.
protocol Check: Sendable {
    var findings: [DoctorReport.Finding] { get }
}

/// Work on a thread of its own, which is waited for only so long: a disk, a name service or a daemon that hangs must not
/// hang `doctor` too. What is not done in time is left running, and the process then ends by `_exit`.
final class BoundedCheck<Value: Sendable>: Sendable {
    private let result = Mutex<Value?>(nil)
    private let done = ThreadWakeup()

    init(_ body: @escaping @Sendable () -> Value) {
        checksUnderWay.add(1, ordering: .relaxed)
        _ = WorkerThread(name: "check") { [self] in run(body) }
    }

    private func run(_ body: () -> Value) {
        let value = body()
        result.withLock { $0 = value }
        checksUnderWay.subtract(1, ordering: .releasing)
        done.signal()
    }

    /// `nil` where it has not ended by then.
    func value(by end: ContinuousClock.Instant) -> Value? {
        if let value = result.withLock({ $0 }) { return value }
        done.wait(atMost: ContinuousClock.now.duration(to: end))
        return result.withLock { $0 }
    }

    /// `nil` where it did not end within that time.
    static func run(within limit: Duration, _ body: @escaping @Sendable () -> Value) -> Value? {
        BoundedCheck(body).value(by: .now + limit)
    }
}

/// Threads of checks that have not ended. Such a thread may be inside libcurl, whose memory exit(3) would free.
let checksUnderWay = Atomic(0)
