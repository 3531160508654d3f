import Glibc
package import PRSNLCore

/// Where things are by default: systemd's directories, else XDG's (docs/configuration.md, "Files").
package enum DefaultPaths {
    package static let systemConfiguration = "/etc/prsnld/prsnld.conf"
    static let databaseName = "prsnl.sqlite"
    static let socketName = "control.sock"

    /// The configuration files that are looked for, the one that wins first: a person's own stands above the machine's.
    package static func configurationFiles(_ environment: ProcessEnvironment) -> [String] {
        [ownConfiguration(environment), systemConfiguration].compactMap(\.self)
    }

    /// A person's own. `nil` where there is no home directory.
    package static func ownConfiguration(_ environment: ProcessEnvironment) -> String? {
        environment.baseDirectory("XDG_CONFIG_HOME", fallback: ".config").map { "\($0)/prsnld/prsnld.conf" }
    }

    /// Where a person's readers of changes keep their places.
    package static func cursors(_ environment: ProcessEnvironment) -> String? {
        environment.baseDirectory("XDG_STATE_HOME", fallback: ".local/state").map { "\($0)/prsnld/cursors" }
    }

    /// `nil` where there is no home directory either.
    static func database(_ environment: ProcessEnvironment) -> String? {
        if let state = firstDirectory("STATE_DIRECTORY", environment) { return "\(state)/\(databaseName)" }
        return environment.baseDirectory("XDG_STATE_HOME", fallback: ".local/state").map {
            "\($0)/prsnld/\(databaseName)"
        }
    }

    static func controlSocket(_ environment: ProcessEnvironment, database: String) -> String {
        if let runtime = firstDirectory("RUNTIME_DIRECTORY", environment) { return "\(runtime)/\(socketName)" }
        if let runtime = environment["XDG_RUNTIME_DIR"], runtime.hasPrefix("/") {
            return "\(runtime)/prsnld/\(socketName)"
        }
        guard let slash = database.lastIndex(of: "/") else { return socketName }
        return "\(database[..<slash])/\(socketName)"
    }

    /// The key that systemd hands to the daemon (`LoadCredential=api-key`), where it does.
    static func apiKey(_ environment: ProcessEnvironment) -> String? {
        guard let folder = environment["CREDENTIALS_DIRECTORY"], folder.hasPrefix("/") else { return nil }
        let path = "\(folder)/\(credentialName)"
        return access(path, F_OK) == 0 ? path : nil
    }

    package static let credentialName = "api-key"

    /// systemd.exec(5): several directories are separated by colons.
    private static func firstDirectory(_ variable: String, _ environment: ProcessEnvironment) -> String? {
        guard let first = environment[variable]?.split(separator: ":").first, first.hasPrefix("/") else { return nil }
        return String(first)
    }

    /// What the system's own daemon has when its configuration does not say otherwise: the directories that systemd makes
    /// for `StateDirectory=prsnld` and `RuntimeDirectory=prsnld`. prsnlctl looks there because it has no such variables.
    package static let systemDatabase = database(ofInstance: nil)
    package static let systemControlSocket = controlSocket(ofInstance: nil)

    /// The configuration file of `prsnld@NAME.service`.
    package static func configurationFile(ofInstance name: String) -> String { "/etc/prsnld/\(name).conf" }

    /// The instance that a configuration file is of: NAME for `/etc/prsnld/NAME.conf`.
    package static func instance(ofConfigurationFile path: String?) -> String? {
        let (folder, ending) = ("/etc/prsnld/", ".conf")
        guard let path, path != systemConfiguration, path.hasPrefix(folder), path.hasSuffix(ending) else { return nil }
        let name = String(path.dropFirst(folder.count).dropLast(ending.count))
        return isInstance(name) ? name : nil
    }

    /// Those that have a configuration.
    package static var instances: [String] {
        files(like: configurationFile(ofInstance: "*")).compactMap(instance(ofConfigurationFile:))
    }

    /// What a pattern finds, sorted by name (glob(3)).
    package static func files(like pattern: String) -> [String] {
        var found = glob_t()
        defer { globfree(&found) }
        guard glob(pattern, 0, nil, &found) == 0 else { return [] }
        return (0..<Int(found.gl_pathc)).compactMap { place in found.gl_pathv[place].map { String(cString: $0) } }
    }

    /// The unit of the machine's that a configuration file is of: `prsnld`, or `prsnld@NAME`. `nil` for any other file.
    package static func unit(ofConfigurationFile path: String) -> String? {
        path == systemConfiguration ? "prsnld" : instance(ofConfigurationFile: path).map { "prsnld@\($0)" }
    }

    /// Whether systemd would find a unit of the machine's: `prsnld`, or `prsnld@NAME` (systemd.unit(5), "UNIT FILE LOAD PATH").
    package static func hasUnit(_ name: String, exists: (String) -> Bool) -> Bool {
        let file = (name.firstIndex(of: "@").map { String(name[...$0]) } ?? name) + ".service"
        return ["/etc", "/run", "/usr/local/lib", "/usr/lib", "/lib"].contains {
            exists("\($0)/systemd/system/\(file)")
        }
    }

    /// That unit of the machine's, or the person's own where there is no name, if systemd runs here (sd_booted(3)) and has it.
    ///
    /// - Parameter file: the configuration, where it was named.
    package static func kind(ofUnit name: String?, file: String? = nil) -> ServiceUnit.Kind {
        let exists = { (path: String) in access(path, F_OK) == 0 }
        guard exists("/run/systemd/system"), name.map({ hasUnit($0, exists: exists) }) ?? true else {
            return .manual(file)
        }
        return name.map(ServiceUnit.Kind.system) ?? .user
    }

    /// What systemd makes for that unit (StateDirectory=, RuntimeDirectory=). Those of an instance are not below the folders of
    /// `prsnld.service`, whose rights would then count for it too.
    package static func directories(ofInstance name: String?) -> (state: String, runtime: String) {
        let folder = name.map { "prsnld-instances/\($0)" } ?? "prsnld"
        return ("/var/lib/\(folder)", "/run/\(folder)")
    }

    /// Whether a name can be one: a part of paths and of a unit's name (systemd.unit(5)).
    package static func isInstance(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.count <= 64 && !name.hasPrefix(".")
            && name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || ":-_.".contains($0)) }
    }

    /// - Throws: `usage` where the value of `--instance` cannot be a name.
    package static func checkInstance(_ name: String) throws(UserFacingError) {
        guard !isInstance(name) else { return }
        throw UserFacingError(
            .usage, "--instance takes the NAME of prsnld@NAME.service: ASCII letters, digits and `:-_.`, 64 at most.")
    }

    static func database(ofInstance name: String?) -> String {
        "\(directories(ofInstance: name).state)/\(databaseName)"
    }

    static func controlSocket(ofInstance name: String?) -> String {
        "\(directories(ofInstance: name).runtime)/\(socketName)"
    }

    /// Whether a folder is the state directory of the machine's daemon or of an instance (StateDirectory= in the units).
    package static func isMachines(_ folder: String) -> Bool {
        let name = folder.split(separator: "/").last.map(String.init) ?? ""
        return folder == directories(ofInstance: nil).state
            || isInstance(name) && folder == directories(ofInstance: name).state
    }
}

/// Where prsnlctl finds the daemon and its file.
///
/// The daemon of a machine has its directories from systemd, which prsnlctl knows nothing of. So where nothing is
/// configured, it looks in both places: the person's own and the machine's. With a configuration of the person's own, it is
/// theirs, and with that of an instance (`/etc/prsnld/NAME.conf`), the instance's.
package struct ClientPaths: Sendable, Equatable {
    package var controlSocket: String
    package var database: String
    /// Of another daemon that could have been meant: the person's own, or the machine's. It need not run.
    package var otherSocket: String?
    package var allowsNetworkFileSystem = false

    /// - Parameter exists: whether something is at a path.
    package init(_ loaded: LoadedConfiguration, isRoot: Bool = geteuid() == 0, exists: (String) -> Bool) {
        // Root's own is the machine's, where that has a unit.
        let prefersSystem =
            loaded.file == DefaultPaths.systemConfiguration
            || isRoot && DefaultPaths.hasUnit("prsnld", exists: exists)
        let instance = DefaultPaths.instance(ofConfigurationFile: loaded.file)
        var other: String?
        func choose(_ own: String, _ key: String, _ ofMachine: (_ instance: String?) -> String) -> String {
            // Of a person's own and of an instance there is one only, whether it is there yet or not.
            if loaded.origins[key] != nil || loaded.isOwn { return own }
            let system = ofMachine(instance)
            if instance != nil { return system }
            let places = prefersSystem ? [system, own] : [own, system]
            let found = places.filter(exists)
            other = found.count > 1 && own != system ? found[1] : nil
            return found.first ?? places[0]
        }
        controlSocket = choose(
            loaded.configuration.controlSocket, "control_socket", DefaultPaths.controlSocket(ofInstance:))
        otherSocket = other
        database = choose(loaded.configuration.database, "database", DefaultPaths.database(ofInstance:))
        allowsNetworkFileSystem = loaded.configuration.allowsNetworkFileSystem
    }

    package init(controlSocket: String, database: String) {
        self.controlSocket = controlSocket
        self.database = database
    }
}
