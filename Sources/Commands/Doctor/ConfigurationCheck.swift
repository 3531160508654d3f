/// The configuration as prsnlctl reads it.
struct ConfigurationCheck: Check {
    static let group = DoctorReport.Group.configuration
    static let name = "configuration"

    /// `nil` where there is none.
    var file: String?
    /// A file that is there, and that this user may not read.
    var hiddenFile: String?
    /// What the daemon would not start with, a line each.
    var problems: [String] = []
    var warnings: [String] = []
    var serverURL: String?

    @Findings var findings: [Finding] {
        for problem in problems {
            failed(Self.name, problem, "Correct it: the daemon does not start with it.", next: "prsnld --check-config")
        }
        for text in warnings { warning(Self.name, text) }
        if let hiddenFile {
            notChecked(Self.name, "\(hiddenFile) may not be read by this user")
        } else if problems.isEmpty, warnings.isEmpty {
            ok(Self.name, file ?? "no file; only the environment and defaults")
        }
        if let serverURL {
            ok("server_url", serverURL)
        } else if hiddenFile == nil, problems.isEmpty {
            failed(
                "server_url", "No server is configured.",
                "Log in, which sets it, or set server_url in the configuration file.",
                next: "sudo prsnlctl login --server https://prsnl.example.org")
        }
    }

    static func gather(_ scene: DoctorScene) -> Self {
        let loaded = scene.context.loaded
        // What only this user may not read, the daemon may.
        let isHidden = loaded.configuration.network.caFile.map(FileStatus.isHidden) ?? false
        let problem = isHidden ? nil : loaded.caFileProblem
        return Self(
            file: loaded.file, hiddenFile: loaded.file == nil ? loaded.hiddenFile : nil,
            problems: (scene.context.problems + [problem].compactMap(\.self)).map(\.description),
            warnings: loaded.hiddenFile == nil ? loaded.warnings : [],
            serverURL: loaded.configuration.serverURL?.text)
    }
}
