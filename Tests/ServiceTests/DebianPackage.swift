import Console
import Control
import Glibc
import TestSupport

/// The Debian package, made of the binaries that are tested. It stays in the build folder, until the next run makes it anew.
struct DebianPackage: Sendable {
    let path: String
    /// What a debug build needs and no package has: the toolchain's runtime.
    let libraries: [String]

    /// Folders in which the binaries look for the runtime, and which the machine is not to have: its own sandbox would
    /// forbid the daemon to load anything from there.
    var libraryFolders: [String] {
        Set(libraries.compactMap { path in path.lastIndex(of: "/").map { String(path[..<$0]) } }).sorted()
    }

    static let current = Task { try await DebianPackage(version: ProductVersion.current) }
    /// The same, as if it was newer.
    static let newer = Task { try await DebianPackage(version: "99.0.0") }

    /// The root of the source tree.
    static let repository = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3)
        .joined(separator: "/")

    private init(version: String) async throws {
        let root = Self.repository
        let daemon = try BuiltProducts.executable("prsnld")
        let binaries = String(daemon[..<(daemon.lastIndex(of: "/") ?? daemon.endIndex)])
        let folder = "\(binaries)/service-tests-\(version)"
        let made = try await ChildProcess.run(
            "\(root)/systemd/debian/build",
            environment: [
                "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": folder, "BINARIES": binaries, "OUT": folder,
                "VERSION": version, "COMPRESSION": "none",
            ], directory: root)
        guard made.exit == .status(0), let path = made.stdout.split(separator: "\n").last else {
            throw WaitedInVain("the package was not built: \(made)")
        }
        self.path = String(path)
        let linked = try await ChildProcess.run("/usr/bin/ldd", [daemon, try BuiltProducts.executable("prsnlctl")])
        // "libswiftCore.so => /opt/swift/usr/lib/swift/linux/libswiftCore.so (0x…)"
        let paths = linked.stdout.split(separator: "\n").compactMap { line -> String? in
            let words = line.split(whereSeparator: { $0 == " " || $0 == "\t" })
            guard words.count > 2, words[1] == "=>" else { return nil }
            return String(words[2])
        }
        libraries = Set(paths.filter { !$0.hasPrefix("/lib/") && !$0.hasPrefix("/usr/lib/") }).sorted()
    }
}
