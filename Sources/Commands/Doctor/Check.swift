import PRSNLCore
import Requests
import Synchronization

/// A check of `doctor`: what it looks at, and what follows from that. Judging is apart from looking, so that tests reach every
/// level without a broken machine.
protocol Check: Sendable {
    typealias Findings = Listing<DoctorReport.Finding>

    static var group: DoctorReport.Group { get }
    /// The name under which it says that it did not end in time.
    static var name: String { get }
    static var limit: Duration { get }
    /// Looks, without judging.
    init(_ scene: DoctorScene)
    @Findings var findings: [DoctorReport.Finding] { get }
}

extension Check {
    /// Long enough for a disk that sleeps.
    static var limit: Duration { .seconds(10) }

    func ok(_ check: String, _ found: String, _ advice: Advice? = nil, next: NextCommand? = nil) -> DoctorReport.Finding
    {
        finding(check, .ok, found, advice, next)
    }

    func warning(
        _ check: String, _ found: String, _ advice: Advice? = nil, next: NextCommand? = nil
    ) -> DoctorReport.Finding { finding(check, .warning, found, advice, next) }

    func failed(
        _ check: String, _ found: String, _ advice: Advice? = nil, next: NextCommand? = nil
    ) -> DoctorReport.Finding { finding(check, .failed, found, advice, next) }

    func notChecked(
        _ check: String, _ reason: String, _ advice: Advice? = nil, next: NextCommand? = nil
    ) -> DoctorReport.Finding { finding(check, .notChecked, reason, advice, next) }

    /// An error as it would be told anywhere else.
    func failed(_ check: String, _ error: UserFacingError) -> DoctorReport.Finding {
        failed(check, error.message, error.recoverySuggestion, next: error.nextCommand)
    }

    func finding(
        _ check: String, _ level: DoctorReport.Level, _ found: String, _ advice: Advice?, _ next: NextCommand?
    ) -> DoctorReport.Finding {
        DoctorReport.Finding(
            group: Self.group, check: check, level: level, found: found, advice: advice, nextCommand: next)
    }
}

/// All checks, each with a thread and a deadline of its own.
enum Examination {
    private static let checks: [any Check.Type] = [
        ConfigurationCheck.self, FilesCheck.self, CredentialsCheck.self, ServerCheck.self, CopyCheck.self,
        DatabaseCheck.self, IntegrityCheck.self, IndexCheck.self, MachineCheck.self, ServiceCheck.self,
    ]
    /// A file of that many bytes is read in a second or so.
    private static let noticeSize: Int64 = 512 << 20

    /// Whether a thread of a check has not ended. The process then ends by `_exit`.
    static var isUnderWay: Bool { checksUnderWay.load(ordering: .acquiring) > 0 }

    /// Side by side, so that all of it takes as long as the slowest.
    ///
    /// - Parameter say: tells what takes long.
    static func findings(_ scene: DoctorScene, say: (Advice) -> Void) -> [DoctorReport.Finding] {
        let running = checks.map { check in
            (check, ContinuousClock.now + check.limit, BoundedCheck { check.init(scene).findings })
        }
        if let size = scene.status?.file.size, size > noticeSize {
            say("reading all of \(scene.database) may take up to \(IntegrityCheck.patience)")
        }
        return running.flatMap { check, end, work in
            let late = "it did not end within \(check.limit)"
            return work.value(by: end)
                ?? [.init(group: check.group, check: check.name, level: .notChecked, found: late)]
        }
    }
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
