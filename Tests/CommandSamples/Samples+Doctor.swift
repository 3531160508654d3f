import Control
import PRSNLCore

@testable package import Commands

extension Samples {
    /// A finding of each level.
    package static var doctor: DoctorReport {
        var configuration = ConfigurationCheck()
        configuration.file = "/etc/prsnld/prsnld.conf"
        configuration.hiddenFile = nil
        configuration.serverURL = "https://prsnl.example.org"
        var credentials = CredentialsCheck(now: now)
        credentials.key = CredentialFile(report: .init(kind: .notReadable, path: "/etc/prsnld/key"))
        credentials.key?.state = .hidden
        var machine = MachineCheck()
        machine.disk = (free: 812 << 10, total: 1 << 30)
        var files = FilesCheck(path: "/var/lib/prsnld/prsnl.sqlite")
        files.folder = .there(mode: 0o750, owner: "prsnld", group: "prsnld", isFile: false)
        files.database = .there(mode: 0o640, owner: "prsnld", group: "prsnld", isFile: true)
        // One line of each, so that the text is short; out of order, because the report puts them in theirs.
        let findings = [
            machine.findings.first { $0.check == "disk" }, files.findings.first { $0.check == "readers" },
            configuration.findings.first, credentials.findings.first,
        ]
        return DoctorReport(findings.compactMap(\.self), now: now)
    }
}
