import Glibc
package import PRSNLCore

/// Where a value comes from.
package enum ConfigurationOrigin: Sendable, Equatable, CustomStringConvertible {
    /// Line 0 is the file as a whole.
    case file(String, line: Int)
    /// The variable's name.
    case environment(String)
    case builtIn

    package var description: String {
        switch self {
        case .file(let path, let line): line > 0 ? "\(path):\(line)" : path
        case .environment(let variable): "environment variable \(variable)"
        case .builtIn: "default"
        }
    }
}

/// One thing that is wrong with the configuration: where, which key, what is allowed, and what was probably meant.
package struct ConfigurationProblem: Sendable, Equatable, CustomStringConvertible {
    package var code = ErrorCode.configInvalid
    package let origin: ConfigurationOrigin
    package let key: String?
    /// To be read after the key: "is not a duration".
    package let reason: String
    package var allowed: String?
    package var nearest: String?

    /// Whether it leaves open where the daemon's socket and its file are.
    package var hidesPlaces: Bool {
        if case .file(_, line: 0) = origin { return true }
        let places = ["database", "control_socket"]
        return places.contains(key ?? "") || places.contains(nearest ?? "")
    }

    package var description: String {
        var text = "\(origin): "
        if let key { text += "\(key) " }
        text += reason
        if let nearest { text += "; did you mean \(nearest)?" }
        if let allowed { text += " (allowed: \(allowed))" }
        return text
    }
}

/// Everything that is wrong with the configuration, in the order in which it stands there.
package struct ConfigurationFailure: Error, Sendable, Equatable {
    package let problems: [ConfigurationProblem]

    package init(problems: [ConfigurationProblem]) { self.problems = problems }
}

extension ConfigurationFailure {
    /// Before its first login, an instance has no configuration; `nil` for any other file, and where it is there.
    package static func missingInstance(_ file: String?) -> UserFacingError? {
        guard let file, DefaultPaths.instance(ofConfigurationFile: file) != nil, access(file, F_OK) != 0,
            errno == ENOENT
        else { return nil }
        return UserFacingError(
            .configUnreadable, "There is no such instance: \(file) is not there.",
            recoverySuggestion: "A login with `--server` makes it.",
            nextCommand: "sudo prsnlctl login --server URL")
    }
}

extension ConfigurationFailure: UserFacing {
    /// One error with a line for each problem. Its code is the problems' own where they agree.
    package var userFacing: UserFacingError {
        let codes = Set(problems.map(\.code))
        let code = codes.count == 1 ? codes.first ?? .configInvalid : .configInvalid
        return UserFacingError(code, problems.map(\.description).joined(separator: "\n"))
    }
}
