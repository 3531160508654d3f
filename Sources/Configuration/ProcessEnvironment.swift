import Glibc

/// What the configuration takes from the process around it, as a value, so that tests can make one up.
package struct ProcessEnvironment: Sendable, Equatable {
    package var variables: [String: String]
    /// Relative paths are relative to it.
    package var workingDirectory: String
    /// The home directory of the user database, for when `$HOME` is not set.
    package var homeDirectory: String?

    package init(variables: [String: String] = [:], workingDirectory: String = "/", homeDirectory: String? = nil) {
        self.variables = variables
        self.workingDirectory = workingDirectory
        self.homeDirectory = homeDirectory
    }

    /// This process's own.
    package static func current() -> ProcessEnvironment {
        var variables: [String: String] = [:]
        var entry = environ
        while let text = entry.pointee {
            let assignment = String(cString: text)
            if let equals = assignment.firstIndex(of: "=") {
                variables[String(assignment[..<equals])] = String(assignment[assignment.index(after: equals)...])
            }
            entry += 1
        }
        var directory = "/"
        if let path = getcwd(nil, 0) {
            directory = String(cString: path)
            free(path)
        }
        let home = getpwuid(getuid()).flatMap { $0.pointee.pw_dir }.map { String(cString: $0) }
        return ProcessEnvironment(variables: variables, workingDirectory: directory, homeDirectory: home)
    }

    /// The variable's value. `nil` also where it is empty, which the XDG specification counts as not set.
    subscript(_ name: String) -> String? {
        guard let value = variables[name], !value.isEmpty else { return nil }
        return value
    }

    /// `$HOME`, else the user database's. `nil` where neither is an absolute path.
    var home: String? {
        for candidate in [self["HOME"], homeDirectory] {
            if let candidate, candidate.hasPrefix("/") { return candidate }
        }
        return nil
    }

    /// An XDG base directory: the variable where it is absolute (the specification ignores relative ones), else `fallback`
    /// below the home directory.
    func baseDirectory(_ variable: String, fallback: String) -> String? {
        if let value = self[variable], value.hasPrefix("/") { return value }
        return home.map { "\($0)/\(fallback)" }
    }

    /// The path made absolute: `~/` is the home directory, anything else relative starts at the working directory.
    package func absolute(_ path: String) -> String {
        if path.hasPrefix("/") { return path }
        if path.hasPrefix("~/"), let home { return home + path.dropFirst() }
        let plain = path.hasPrefix("./") ? String(path.dropFirst(2)) : path
        return workingDirectory.hasSuffix("/") ? workingDirectory + plain : "\(workingDirectory)/\(plain)"
    }
}
