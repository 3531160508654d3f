public import PRSNLCore

/// Where a value comes from.
public enum ConfigurationOrigin: Sendable, Equatable, CustomStringConvertible {
    /// Line 0 is the file as a whole.
    case file(String, line: Int)
    /// The variable's name.
    case environment(String)
    case builtIn

    public var description: String {
        switch self {
        case .file(let path, let line): line > 0 ? "\(path):\(line)" : path
        case .environment(let variable): "environment variable \(variable)"
        case .builtIn: "default"
        }
    }
}

/// One thing that is wrong with the configuration: where, which key, what is allowed, and what was probably meant.
public struct ConfigurationProblem: Sendable, Equatable, CustomStringConvertible {
    public var code = ErrorCode.configInvalid
    public let origin: ConfigurationOrigin
    public let key: String?
    /// To be read after the key: "is not a duration".
    public let reason: String
    public var allowed: String?
    public var nearest: String?

    public var description: String {
        var text = "\(origin): "
        if let key { text += "\(key) " }
        text += reason
        if let nearest { text += "; did you mean \(nearest)?" }
        if let allowed { text += " (allowed: \(allowed))" }
        return text
    }
}

/// Everything that is wrong with the configuration, in the order in which it stands there.
public struct ConfigurationFailure: Error, Sendable, Equatable {
    public let problems: [ConfigurationProblem]

    public init(problems: [ConfigurationProblem]) { self.problems = problems }
}

extension ConfigurationFailure: UserFacing {
    /// One error with a line for each problem. Its code is the problems' own where they agree.
    public var userFacing: UserFacingError {
        let codes = Set(problems.map(\.code))
        let code = codes.count == 1 ? codes.first ?? .configInvalid : .configInvalid
        return UserFacingError(code, problems.map(\.description).joined(separator: "\n"))
    }
}
