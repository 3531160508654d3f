import Glibc

/// The executables of this package, as built beside the tests that run.
package enum BuiltProducts {
    /// The path of an executable product such as "prsnld".
    ///
    /// - Throws: `WaitedInVain` that names the folders looked in.
    package static func executable(_ name: String) throws -> String {
        let folders = candidates()
        for folder in folders where access("\(folder)/\(name)", X_OK) == 0 { return "\(folder)/\(name)" }
        throw WaitedInVain("no executable \(name) in \(folders.joined(separator: ", "))")
    }

    /// The folder that they are in.
    package static func folder() throws -> String {
        let daemon = try executable("prsnld")
        return String(daemon.dropLast("/prsnld".count))
    }

    /// `swift test` runs the test bundle itself or a helper that is given the bundle's path, by tool version.
    private static func candidates() -> [String] {
        var paths: [String] = []
        if let own = realpath("/proc/self/exe", nil) {
            paths.append(String(cString: own))
            free(own)
        }
        paths += CommandLine.arguments.filter { $0.hasSuffix(".xctest") }
        var folders: [String] = []
        for path in paths {
            guard let slash = path.lastIndex(of: "/") else { continue }
            let folder = String(path[..<slash])
            if !folders.contains(folder) { folders.append(folder) }
        }
        return folders
    }
}
