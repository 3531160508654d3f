import TestSupport

/// The Debian package of the binaries beside these tests, as `make deb` builds it. It stays in the build folder.
enum DebianPackage {
    /// Built once for all tests. The version of the sources, compressed as packages are, but quickly.
    static let current = Task { try await make(folder: "package-tests") }
    /// The same as an upgrade of it.
    static let newer = Task { try await make(folder: "package-tests-newer", ["VERSION=99.0"]) }

    static func make(folder: String, _ variables: [String] = []) async throws -> String {
        let binaries = try Tool.binaries()
        let output = try await Tool.run(
            "make",
            [
                "--no-print-directory", "deb", "BINARIES=\(binaries)", "DEB_FOLDER=\(binaries)/\(folder)",
                "COMPRESSION=gzip",
            ] + variables)
        guard let path = Tool.lines(output.output).last, path.hasSuffix(".deb") else {
            throw Tool.Failed(description: "make deb named no package: \(output)")
        }
        return path
    }

    /// What a package of these sources has.
    static func version() async throws -> String {
        Tool.lines(try await Tool.run("\(Tool.repository)/systemd/debian/build", ["version"]).output)[0]
    }

    /// A field of its control file.
    static func field(_ name: String, of package: String) async throws -> String {
        let text = try await Tool.run("dpkg-deb", ["--field", package, name]).output
        return Tool.lines(text).joined(separator: "\n")
    }
}
