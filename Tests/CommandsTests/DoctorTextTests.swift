import CommandSamples
import Console
import Control
import PRSNLCore
import Testing

@testable import Commands

@Suite struct DoctorTextTests {
    @Test func findingsAreGroupedAlignedAndCounted() throws {
        try expectScreen("findingsAreGroupedAlignedAndCounted", Samples.doctor.text(TextStyle()))
    }

    @Test func theWorstDecides() {
        #expect(Samples.doctor.result == .failed && Samples.doctor.exitCode == .error)
        func report(_ levels: DoctorReport.Level...) -> DoctorReport {
            DoctorReport(levels.map { .init(group: .machine, check: "x", level: $0, found: "") }, now: Samples.now)
        }
        #expect(report(.ok, .notChecked).exitCode == .fine && report(.notChecked).result == .ok)
        #expect(report(.ok, .warning).exitCode == .needsAttention)
    }

    @Test(arguments: [40, 60, 80])
    func noLineIsWiderThanTheTerminal(width: Int) {
        var style = TextStyle()
        style.width = width
        for line in Samples.doctor.text(style).split(separator: "\n") where !line.contains("`") {
            #expect(line.count <= max(width, 49), "\(line)")
        }
    }

    @Test func textFromElsewhereCannotSteerTheTerminal() {
        var report = Samples.doctor
        report.findings[0].found = "evil\u{1B}[2J\u{202E}\nsecond"
        report.findings[0].nextCommand = "x\u{9B}1m"
        let text = report.text(TextStyle())
        #expect(text.contains("evil\\u{1B}[2J\\u{202E}\n"))
        #expect(!text.unicodeScalars.contains { $0.value == 0x1B || $0.value == 0x9B || $0.value == 0x202E })
    }

    @Test func theReportSurvivesItsJSON() throws {
        let line = try JSONOutput.line(Samples.doctor)
        #expect(try JSONOutput.decode(DoctorReport.self, from: line, isOwn: true) == Samples.doctor)
    }
}
