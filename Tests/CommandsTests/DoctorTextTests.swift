import CommandSamples
import Commands
import Console
import Control
import PRSNLCore
import Testing

@Suite struct DoctorTextTests {
    @Test func findingsAreGroupedAlignedAndCounted() {
        #expect(
            Samples.doctor.text(TextStyle()) == """
                Configuration
                  ok       configuration /etc/prsnld/prsnld.conf
                Credentials
                  -        key file      not checked: /etc/prsnld/key may only be read by the
                                         daemon's user and root
                File
                  warning  readers       -wal and -shm are gone, without which members of the
                                         group cannot read the file
                                         A plain sqlite3 by root removes them; use `sqlite3
                                         -readonly`. Starting the daemon makes them, too.
                                         `sudo prsnlctl doctor --repair`
                Machine
                  failed   disk          812.0 KiB free of 1.0 GiB
                                         Free some space: without it nothing is pulled, and no
                                         write is accepted.
                1 failed, 1 warning, 1 ok, 1 not checked

                """)
    }

    @Test func theWorstDecides() {
        #expect(Samples.doctor.result == .failed && Samples.doctor.exitCode == .error)
        func report(_ levels: DoctorReport.Level...) -> DoctorReport {
            DoctorReport(levels.map { .init(.machine, "x", $0, "") }, now: Samples.now)
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
