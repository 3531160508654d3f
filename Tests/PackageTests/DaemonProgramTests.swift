import Testing

/// The daemon is only a daemon: it has nothing of the command line, and starts no programs.
@Suite struct DaemonProgramTests {
    /// The symbols of a module that is linked begin with its name.
    private static let words = ["$s8Commands", "less -R", "xdg-open"]

    /// What is found in a program, of what only prsnlctl needs.
    private func found(in program: String) async throws -> [String] {
        let path = try Tool.binaries() + "/" + program
        let imports = try await Tool.run("nm", ["-D", "--undefined-only", "--without-symbol-versions", path]).output
        let calls = Tool.lines(imports).compactMap { $0.split(separator: " ").last.map(String.init) }.filter {
            ["popen", "system"].contains($0) || $0.hasPrefix("posix_spawn") || $0.hasPrefix("exec")
        }
        let script = "for word in \"${@:2}\"; do grep -aqF -- \"$word\" \"$1\" && echo \"$word\"; done; true"
        return calls + Tool.lines(try await Tool.run("bash", ["-c", script, "find", path] + Self.words).output)
    }

    @Test func theDaemonHasNothingOfTheCommandLine() async throws {
        #expect(try await found(in: "prsnld") == [])
        let ours = Set(try await found(in: "prsnlctl"))
        #expect(ours.isSuperset(of: Self.words + ["popen", "system"]))
    }
}
