import Console
import PRSNLCore
import Synchronization

/// A check of `doctor`: what it looks at, and what follows from that. Judging is apart from looking, so that tests reach every
/// level without a broken machine.
protocol Check: Sendable {
    typealias Finding = DoctorReport.Finding
    typealias Findings = Listing<Finding>

    static var group: DoctorReport.Group { get }
    /// The name under which it says that it did not end in time.
    static var name: String { get }
    static var limit: Duration { get }
    /// Looks, without judging.
    static func gather(_ scene: DoctorScene) -> Self
    @Findings var findings: [Finding] { get }
}

extension Check {
    /// Long enough for a disk that sleeps.
    static var limit: Duration { .seconds(10) }

    func ok(_ check: String, _ found: String, _ advice: Advice? = nil, next: NextCommand? = nil) -> Finding {
        finding(check, .ok, found, advice, next)
    }

    func warning(_ check: String, _ found: String, _ advice: Advice? = nil, next: NextCommand? = nil) -> Finding {
        finding(check, .warning, found, advice, next)
    }

    func failed(_ check: String, _ found: String, _ advice: Advice? = nil, next: NextCommand? = nil) -> Finding {
        finding(check, .failed, found, advice, next)
    }

    func notChecked(_ check: String, _ reason: String, _ advice: Advice? = nil, next: NextCommand? = nil) -> Finding {
        finding(check, .notChecked, reason, advice, next)
    }

    /// An error as it would be told anywhere else.
    func failed(_ check: String, _ error: UserFacingError) -> Finding {
        failed(check, error.message, error.recoverySuggestion, next: error.nextCommand)
    }

    func finding(
        _ check: String, _ level: DoctorReport.Level, _ found: String, _ advice: Advice?, _ next: NextCommand?
    ) -> Finding {
        Finding(group: Self.group, check: check, level: level, found: found, advice: advice, nextCommand: next)
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

    /// Side by side, so that all of it takes as long as the slowest.
    static func findings(_ scene: DoctorScene) -> [DoctorReport.Finding] {
        let running = checks.map { check in
            (check, ContinuousClock.now + check.limit, BoundedCheck.begin { check.gather(scene).findings })
        }
        if let size = scene.status?.file.size, size > noticeSize {
            scene.context.say("reading all of \(scene.database) may take up to \(IntegrityCheck.patience)")
        }
        return running.flatMap { check, end, work in
            let late = "it did not end within \(check.limit)"
            return work.wait(atMost: ContinuousClock.now.duration(to: end))
                ?? [.init(group: check.group, check: check.name, level: .notChecked, found: late)]
        }
    }
}

/// Work on a thread of its own, which is waited for only so long: a disk, a name service or a daemon that hangs must not
/// hang `doctor` too. What is not done in time is left running, and the process then ends by `_exit`: such a thread may be
/// inside libcurl, whose memory exit(3) would free.
enum BoundedCheck {
    private static let underWay = Atomic(0)

    /// Whether a thread has not ended.
    static var isUnderWay: Bool { underWay.load(ordering: .acquiring) > 0 }

    static func begin<Value: Sendable>(_ body: @escaping @Sendable () -> Value) -> Outcome<Value> {
        let outcome = Outcome<Value>()
        underWay.add(1, ordering: .relaxed)
        _ = WorkerThread(name: "check") {
            let value = body()
            underWay.subtract(1, ordering: .releasing)
            outcome.set(value)
        }
        return outcome
    }

    /// `nil` where it did not end within that time.
    static func run<Value: Sendable>(within limit: Duration, _ body: @escaping @Sendable () -> Value) -> Value? {
        begin(body).wait(atMost: limit)
    }
}
