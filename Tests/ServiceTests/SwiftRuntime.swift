import TestSupport

/// What a debug build needs and no package has: the toolchain's runtime.
struct SwiftRuntime: Sendable {
    let libraries: [String]

    /// Folders in which the binaries look for the runtime, and which a machine must not have: the unit's own sandbox would
    /// forbid the daemon to load anything from there.
    var folders: [String] {
        Set(libraries.compactMap { path in path.lastIndex(of: "/").map { String(path[..<$0]) } }).sorted()
    }

    static let current = Task { try await SwiftRuntime() }

    private init() async throws {
        let programs = try ["prsnld", "prsnlctl"].map { try BuiltProducts.executable($0) }
        let linked = try await ChildProcess.run("/usr/bin/ldd", programs)
        // "libswiftCore.so => /opt/swift/usr/lib/swift/linux/libswiftCore.so (0x…)"
        let paths = linked.stdout.split(separator: "\n").compactMap { line -> String? in
            let words = line.split(whereSeparator: { $0 == " " || $0 == "\t" })
            guard words.count > 2, words[1] == "=>" else { return nil }
            return String(words[2])
        }
        libraries = Set(paths.filter { !$0.hasPrefix("/lib/") && !$0.hasPrefix("/usr/lib/") }).sorted()
    }
}
