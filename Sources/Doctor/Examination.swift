import Configuration
import PRSNLCore
import Store
import Synchronization

/// All checks of `prsnlctl doctor`, each with a thread and a deadline of its own.
package enum Examination {
    /// Long enough for a disk that sleeps.
    private static let usual: Duration = .seconds(10)
    /// A file of that many bytes is read in a second or so.
    private static let noticeSize: Int64 = 512 << 20

    /// Whether a thread of a check has not ended. The process then ends by `_exit`.
    package static var isUnderWay: Bool { checksUnderWay.load(ordering: .acquiring) > 0 }

    /// - Parameter say: tells what takes long.
    package static func run(_ question: DoctorQuestion, say: (String) -> Void) -> DoctorReport {
        let scene = DoctorScene(question)
        let findings = configuration(scene).findings + [scene.repair].compactMap(\.self) + check(scene, say)
        return DoctorReport(findings.map { $0.fitted(to: scene.unit) }, now: scene.now)
    }

    private static func configuration(_ scene: DoctorScene) -> DoctorConfiguration {
        let loaded = scene.loaded
        var facts = DoctorConfiguration()
        facts.file = loaded.file
        facts.hiddenFile = loaded.file == nil ? loaded.hiddenFile : nil
        facts.problems = scene.problems.map(\.description)
        // What only this user may not read, the daemon may.
        if let path = loaded.configuration.network.caFile, !FileLook.isHidden(path), let problem = loaded.caFileProblem
        {
            facts.problems.append(problem.description)
        }
        facts.warnings = loaded.hiddenFile == nil ? loaded.warnings : []
        facts.serverURL = loaded.configuration.serverURL?.text
        return facts
    }

    /// Side by side, so that all of it takes as long as the slowest.
    private static func check(_ scene: DoctorScene, _ say: (String) -> Void) -> [DoctorReport.Finding] {
        let files =
            (scene.files?.findings ?? [.notChecked(.file, "database", "the disk did not answer in time")])
            + [scene.otherDatabase.map { .otherDatabase($0, not: scene.database) }].compactMap(\.self)
        let checks = [
            Check(.credentials, "key_file") { GatherCredentials.run(scene).findings },
            Check(.server, "way", within: GatherServer.limit + usual) { GatherServer.way(scene).findings },
            Check(.server, "account", within: GatherServer.limit + usual) { GatherServer.copy(scene).findings },
            Check(.file, "schema") { GatherFiles.database(scene).findings },
            Check(.file, "integrity", within: GatherFiles.integrityLimit + usual) {
                GatherFiles.integrity(scene)?.findings ?? []
            },
            Check(.machine, "disk") { GatherMachine.run(scene).findings },
            Check(.service, "unit", within: .seconds(30)) { GatherService.run(scene).findings },
        ]
        if let size = scene.status?.file.size, size > noticeSize {
            say("reading all of \(scene.database) may take up to \(GatherFiles.integrityLimit)")
        }
        return files + checks.flatMap { $0.findings() }
    }

    /// One check under way.
    private struct Check {
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
