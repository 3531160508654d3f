import CLinux
import Glibc
import PRSNLCore

/// A configuration together with where each value came from.
package struct LoadedConfiguration: Sendable, Equatable {
    package internal(set) var configuration = DaemonConfiguration()
    /// The file that was read. `nil` where there is none.
    package internal(set) var file: String?
    /// By the key's name.
    package internal(set) var origins: [String: ConfigurationOrigin] = [:]
    /// A usual file that is there, and that this user may not read.
    package internal(set) var hiddenFile: String?
    /// It is a person's own: the daemon that is meant is theirs, whether it runs or not.
    package internal(set) var isOwn = false
    /// What is allowed but probably not meant.
    package internal(set) var warnings: [String] = []

    package func origin(of key: ConfigurationKey) -> ConfigurationOrigin { origins[key.name] ?? .builtIn }

    /// sun_path of unix(7) holds 108 bytes with the NUL at its end.
    package static let longestSocketPath = 107

    /// Reads the file, then the environment, then fills in the defaults.
    ///
    /// - Parameters:
    ///   - file: the file of `--config`. `nil` looks for the usual ones.
    ///   - skippingUnreadable: go on without a usual file that exists but may not be read, with a warning.
    ///   - onlyOwn: of the usual ones, look for the person's own alone, also where it is not there yet.
    ///   - mayBeMissing: the file of `--config` counts as an empty one where it is not there yet.
    /// - Returns: what could be read, and every problem that there is.
    package static func examine(
        file: String?, environment: ProcessEnvironment, skippingUnreadable: Bool = false, onlyOwn: Bool = false,
        mayBeMissing: Bool = false
    ) -> (loaded: LoadedConfiguration, problems: [ConfigurationProblem]) {
        var loading = ConfigurationLoading(environment: environment)
        loading.readFile(
            named: file, skippingUnreadable: skippingUnreadable, onlyOwn: onlyOwn, mayBeMissing: mayBeMissing)
        loading.readEnvironment()
        loading.fillIn()
        return (loading.result, loading.problems)
    }
}

/// The steps of `LoadedConfiguration.examine`, collecting problems on the way.
private struct ConfigurationLoading {
    let environment: ProcessEnvironment
    var result = LoadedConfiguration()
    var problems: [ConfigurationProblem] = []

    init(environment: ProcessEnvironment) {
        self.environment = environment
        for key in ConfigurationKey.all {
            guard let value = key.defaultValue else { continue }
            take(key, value, from: .builtIn)
        }
        result.origins = [:]
    }

    mutating func readFile(named file: String?, skippingUnreadable: Bool, onlyOwn: Bool, mayBeMissing: Bool) {
        defer {
            result.isOwn = onlyOwn || result.file != nil && result.file == DefaultPaths.ownConfiguration(environment)
        }
        if let file {
            let path = environment.absolute(file)
            if !read(path, mayBeMissing: mayBeMissing, skippingUnreadable: false) { result.file = path }
            return
        }
        for path in DefaultPaths.configurationFiles(environment)
        where (!onlyOwn || path != DefaultPaths.systemConfiguration)
            && read(path, mayBeMissing: true, skippingUnreadable: skippingUnreadable)
        {
            return
        }
    }

    /// Whether the file is there (even if wrong), so that no other is looked for.
    private mutating func read(_ path: String, mayBeMissing: Bool, skippingUnreadable: Bool) -> Bool {
        let bytes: [UInt8]
        do throws(SmallFile.Failure) {
            let descriptor = try SmallFile.open(path)
            defer { close(descriptor) }
            bytes = try SmallFile.read(descriptor, limit: ConfigurationFile.maximumSize)
        } catch {
            if mayBeMissing, error.errno == ENOENT || error.errno == ENOTDIR { return false }
            if skippingUnreadable, error.errno == EACCES {
                result.warnings.append("\(path) may not be read by this user; going on without it")
                result.hiddenFile = result.hiddenFile ?? path
                return false
            }
            report(
                nil, "cannot be read: \(error.reason)", at: .file(path, line: 0),
                code: .of(errno: error.errno, otherwise: .configUnreadable))
            return true
        }
        result.file = path
        let file = ConfigurationFile(path: path, bytes: bytes)
        problems += file.problems
        var lines: [String: Int] = [:]
        for entry in file.entries {
            let origin = ConfigurationOrigin.file(path, line: entry.line)
            guard let key = ConfigurationKey.named(entry.key) else {
                reportUnknown(entry.key, origin)
                continue
            }
            if let earlier = lines.updateValue(entry.line, forKey: key.name) {
                report(key.name, "is set twice: it stands in line \(earlier) already", at: origin)
                continue
            }
            take(key, entry.value, from: origin)
        }
        problems.sort { $0.origin.line < $1.origin.line }
        return true
    }

    private mutating func reportUnknown(_ name: String, _ origin: ConfigurationOrigin) {
        let names = ConfigurationKey.all.map(\.name)
        let nearest = EditDistance.nearest(to: name, among: names)
        report(
            name, "is not a known key", at: origin, allowed: nearest == nil ? names.joined(separator: ", ") : nil,
            nearest: nearest)
    }

    mutating func readEnvironment() {
        for key in ConfigurationKey.all {
            // Empty counts as not set, as everywhere in the environment.
            guard let value = environment[key.variable] else { continue }
            take(key, value, from: .environment(key.variable))
        }
        let known = ConfigurationKey.all.map(\.variable)
        for name in environment.variables.keys.sorted()
        where name.hasPrefix(ConfigurationKey.variablePrefix) && !known.contains(name) {
            // Other programs may use the prefix too, so only a name that is nearly ours is worth a word.
            guard let nearest = EditDistance.nearest(to: name.lowercased(), among: known.map { $0.lowercased() }) else {
                continue
            }
            result.warnings.append("environment variable \(name) is not known; did you mean \(nearest.uppercased())?")
        }
    }

    private mutating func take(_ key: ConfigurationKey, _ text: String, from origin: ConfigurationOrigin) {
        do throws(Rejection) {
            let text = try Quotation.strip(text)
            guard !text.isEmpty else { throw Rejection("has no value") }
            try key.apply(text, &result.configuration)
            result.origins[key.name] = origin
        } catch {
            report(
                key.name, error.reason, at: origin, code: key.name == "server_url" ? .badServerURL : .configInvalid,
                allowed: key.allowed)
        }
    }

    mutating func fillIn() {
        var configuration = result.configuration
        configuration.apiKeyFile =
            configuration.apiKeyFile.map(environment.absolute) ?? DefaultPaths.apiKey(environment)
        configuration.network.caFile = configuration.network.caFile.map(environment.absolute)
        if configuration.database.isEmpty {
            if let path = DefaultPaths.database(environment) {
                configuration.database = path
            } else {
                report("database", "has no default, because there is no home directory; set it")
            }
        }
        configuration.database = environment.absolute(configuration.database)
        if configuration.controlSocket.isEmpty {
            configuration.controlSocket = DefaultPaths.controlSocket(environment, database: configuration.database)
        }
        configuration.controlSocket = environment.absolute(configuration.controlSocket)
        let length = configuration.controlSocket.utf8.count
        if length > LoadedConfiguration.longestSocketPath {
            report(
                "control_socket",
                "is too long for a socket: \(length) bytes, of which \(LoadedConfiguration.longestSocketPath) are allowed"
            )
        }
        if let url = configuration.serverURL, url.scheme == .http, !url.isLoopback,
            !configuration.network.allowInsecureHTTP
        {
            report(
                "server_url", "is http:// to another machine, which shows the key to everyone in between",
                code: .insecureServerURL, allowed: "https://, or http:// to this machine, or allow_insecure_http = yes")
        }
        result.configuration = configuration
    }

    /// - Parameter origin: by default where the key's value is from.
    private mutating func report(
        _ key: String?, _ reason: String, at origin: ConfigurationOrigin? = nil, code: ErrorCode = .configInvalid,
        allowed: String? = nil, nearest: String? = nil
    ) {
        problems.append(
            ConfigurationProblem(
                code: code, origin: origin ?? result.origins[key ?? ""] ?? .builtIn, key: key, reason: reason,
                allowed: allowed, nearest: nearest))
    }
}

extension ConfigurationOrigin {
    fileprivate var line: Int {
        if case .file(_, let line) = self { line } else { 0 }
    }
}

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
    var home: String? { [self["HOME"], homeDirectory].compactMap(\.self).first { $0.hasPrefix("/") } }

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
