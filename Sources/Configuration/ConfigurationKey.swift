import Glibc
package import PRSNLCore

/// One key: its name, what it takes, its default and its documentation. `all` is the only list of keys. Parsing, errors,
/// `prsnld --check-config` and docs/configuration.md follow it.
package struct ConfigurationKey: Sendable {
    /// When a changed value counts.
    package enum Effect: String, Sendable {
        case reload
        case restart
    }

    package let name: String
    /// "duration", "size", "path", … for people.
    package let type: String
    /// The default as people write or understand it.
    package let defaultText: String
    /// What is allowed, to be read after "allowed:".
    package let allowed: String
    /// One line.
    package let summary: String
    package let effect: Effect
    /// The value that is parsed where none is given. `nil` where the default depends on the machine or there is none.
    package let defaultValue: String?
    let apply: @Sendable (String, inout DaemonConfiguration) throws(Rejection) -> Void
    /// The value as text, as the configuration would write it. `nil` where none is set.
    package let value: @Sendable (DaemonConfiguration) -> String?

    /// The name of the environment variable that stands above the file: `PRSNL_POLL_INTERVAL`.
    package var variable: String { Self.variablePrefix + name.uppercased() }
    package static let variablePrefix = "PRSNL_"

    package static func named(_ name: String) -> ConfigurationKey? { all.first { $0.name == name } }
}

extension ConfigurationKey {
    /// - Parameters:
    ///   - property: has the default.
    ///   - describe: writes a value as the configuration would.
    static func value<Value>(
        _ name: String, _ type: String, _ property: WritableKeyPath<DaemonConfiguration, Value> & Sendable,
        allowed: String, effect: Effect, _ summary: String, describe: @escaping @Sendable (Value) -> String,
        parse: @escaping @Sendable (String) throws(Rejection) -> Value
    ) -> ConfigurationKey {
        let defaultValue = describe(DaemonConfiguration()[keyPath: property])
        return ConfigurationKey(
            name: name, type: type, defaultText: "`\(defaultValue)`", allowed: allowed, summary: summary,
            effect: effect, defaultValue: defaultValue,
            apply: { text, configuration throws(Rejection) in configuration[keyPath: property] = try parse(text) },
            value: { describe($0[keyPath: property]) })
    }

    static func size(
        _ name: String, _ property: WritableKeyPath<DaemonConfiguration, Int> & Sendable,
        from lower: String, to upper: String, effect: Effect = .restart, _ summary: String
    ) -> ConfigurationKey {
        value(
            name, "size", property, allowed: "\(lower) to \(upper)", effect: effect, summary,
            describe: SizeText.describe
        ) { text throws(Rejection) in
            guard let bytes = SizeText.parse(text) else { throw Rejection("is not a size: \(quote(text))") }
            guard let lower = SizeText.parse(lower), let upper = SizeText.parse(upper), (lower...upper).contains(bytes)
            else { throw Rejection("is out of range: \(quote(text))") }
            return bytes
        }
    }

    static func path(
        _ name: String, _ property: WritableKeyPath<DaemonConfiguration, String?> & Sendable,
        default defaultText: String, _ summary: String, effect: Effect = .restart
    ) -> ConfigurationKey {
        ConfigurationKey(
            name: name, type: "path", defaultText: defaultText, allowed: "a path; `~/` is the home directory",
            summary: summary, effect: effect, defaultValue: nil,
            apply: { text, configuration throws(Rejection) in
                guard !text.utf8.contains(0) else { throw Rejection("contains a NUL byte") }
                configuration[keyPath: property] = text
            },
            value: { $0[keyPath: property] })
    }

    static func duration(
        _ name: String, _ property: WritableKeyPath<DaemonConfiguration, Duration> & Sendable,
        from lowest: String, to highest: String, effect: Effect = .restart, _ summary: String
    ) -> ConfigurationKey {
        value(
            name, "duration", property, allowed: "\(lowest) to \(highest)", effect: effect, summary,
            describe: DurationText.describe
        ) { text throws(Rejection) in try duration(text, from: lowest, to: highest) }
    }

    static func yesOrNo(
        _ name: String, _ property: WritableKeyPath<DaemonConfiguration, Bool> & Sendable, effect: Effect,
        _ summary: String
    ) -> ConfigurationKey {
        value(
            name, "yes or no", property, allowed: "yes, no, true, false, on, off, 1, 0", effect: effect, summary,
            describe: { $0 ? "yes" : "no" }, parse: flag)
    }

    static func number(
        _ name: String, _ property: WritableKeyPath<DaemonConfiguration, Int> & Sendable,
        in range: ClosedRange<Int>, _ summary: String
    ) -> ConfigurationKey {
        value(
            name, "number", property, allowed: "\(range.lowerBound) to \(range.upperBound)", effect: .reload, summary,
            describe: { String($0) }
        ) { text throws(Rejection) in
            guard let number = Int(text) else { throw Rejection("is not a whole number: \(quote(text))") }
            guard range.contains(number) else { throw Rejection("is out of range: \(quote(text))") }
            return number
        }
    }

    static func duration(_ text: String, from lowest: String, to highest: String) throws(Rejection) -> Duration {
        guard let duration = DurationText.parse(text) else {
            throw Rejection("is not a duration (300, 5m, 1h30m): \(quote(text))")
        }
        if let least = DurationText.parse(lowest), let most = DurationText.parse(highest),
            duration < least || duration > most
        {
            throw Rejection("is out of range: \(quote(text))")
        }
        return duration
    }

    static func flag(_ text: String) throws(Rejection) -> Bool {
        switch text.lowercased() {
        case "yes", "true", "on", "1": true
        case "no", "false", "off", "0": false
        default: throw Rejection("is neither yes nor no: \(quote(text))")
        }
    }

    static func quote(_ text: String) -> String {
        text.count > 60 ? "\"\(text.prefix(60))…\"" : "\"\(text)\""
    }

    static func withoutPassword(_ address: String) -> String {
        guard let at = address.lastIndex(of: "@") else { return address }
        let scheme = address.firstRange(of: "://").map { address[..<$0.upperBound] } ?? ""
        return "\(scheme)***\(address[at...])"
    }
}

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
