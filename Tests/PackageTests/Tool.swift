import TestSupport

/// Programs of the system that tests ask about what this package makes.
enum Tool {
    struct Failed: Error, CustomStringConvertible {
        let description: String
    }

    /// The root of the source tree, without a slash at its end.
    static let repository = RepositoryFile.root()

    /// Nothing of the environment of `make test` reaches them, such as its MAKEFLAGS.
    private static func environment(home: String) -> [String: String] {
        [
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": home, "LC_ALL": "C.UTF-8",
            "TERM": "dumb",
        ]
    }

    /// Runs a program of the PATH to its end, and throws unless it ends with 0.
    ///
    /// - Returns: what it said on stdout, and on stderr.
    @discardableResult
    static func run(_ program: String, _ arguments: [String], input: String = "") async throws -> (
        output: String, errors: String
    ) {
        let home = TemporaryDirectory("home")
        let result = try await ChildProcess.run(
            "/usr/bin/env", [program] + arguments, environment: environment(home: home.path), directory: repository,
            input: input)
        guard result.exit == .status(0) else {
            throw Failed(
                description: "\(program) \(arguments.joined(separator: " ")) ended with \(result.exit):\n"
                    + "\(result.stdout)\(result.stderr)")
        }
        return (result.stdout, result.stderr)
    }

    static func lines(_ text: String) -> [String] { text.split(separator: "\n").map(String.init) }

    /// The folder of the binaries that were built together with these tests.
    static func binaries() throws -> String {
        try BuiltProducts.folder()
    }

    /// The version that a package of these sources has.
    static func packageVersion() async throws -> String {
        lines(try await run("\(repository)/systemd/debian/build", ["version"]).output)[0]
    }

    /// A field of a Debian package's control file.
    static func packageField(_ name: String, of package: String) async throws -> String {
        lines(try await run("dpkg-deb", ["--field", package, name]).output).joined(separator: "\n")
    }

    /// What is below a folder, as `TYPE MODE OWNER PATH`, sorted by path; folders only where `withFolders`.
    static func tree(_ folder: String, withFolders: Bool = false) async throws -> [String] {
        let kinds = withFolders ? [] : ["!", "-type", "d"]
        let found = try await run("find", [folder, "-mindepth", "1"] + kinds + ["-printf", "%y %m %P\\n"])
        return lines(found.output).sorted { $0.split(separator: " ")[2] < $1.split(separator: " ")[2] }
    }
}
