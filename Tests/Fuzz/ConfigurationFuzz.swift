import PRSNLCore

@testable import Configuration

/// A configuration file.
extension FuzzTarget {
    private static let file = MemoryFile()

    static let configuration = FuzzTarget(name: "configuration") { bytes in
        let loaded: LoadedConfiguration
        do throws(ConfigurationFailure) {
            loaded = try load(bytes)
        } catch {
            let lines = bytes.count { $0 == UInt8(ascii: "\n") } + 1
            require(!error.problems.isEmpty, "refused without a problem")
            for problem in error.problems { check(problem, lines: lines) }
            require(!error.userFacing.message.isEmpty, "an error without a message")
            return
        }
        check(loaded.configuration)
        checkWrittenAgain(loaded.configuration)
        checkAsEnvironment(loaded.configuration, bytes)
    }

    private static func load(
        _ bytes: [UInt8], variables: [String: String] = [:]
    ) throws(ConfigurationFailure) -> LoadedConfiguration {
        file.fill(bytes)
        let environment = ProcessEnvironment(
            variables: variables, workingDirectory: "/work", homeDirectory: "/home/user")
        let (loaded, problems) = LoadedConfiguration.examine(file: file.path, environment: environment)
        guard problems.isEmpty else { throw ConfigurationFailure(problems: problems) }
        return loaded
    }

    private static func check(_ problem: ConfigurationProblem, lines: Int) {
        require(!problem.reason.isEmpty, "a problem without a reason")
        switch problem.origin {
        case .file(_, let line): require((1...lines).contains(line), "line \(line) of \(lines)")
        // The socket's default follows from the database's path.
        case .builtIn: require(problem.key == "control_socket", "no one wrote it: \(problem)")
        case .environment: fatalError("there is no environment")
        }
    }

    private static func check(_ configuration: DaemonConfiguration) {
        require((1...100).contains(configuration.sync.pageSize), "page_size \(configuration.sync.pageSize)")
        require((64 << 10...1 << 30).contains(configuration.network.maximumAnswerSize), "max_answer_size")
        require(configuration.sync.pollInterval >= .seconds(1), "poll_interval \(configuration.sync.pollInterval)")
        require(configuration.network.connectTimeout >= .milliseconds(100), "connect_timeout")
        for path in [configuration.database, configuration.controlSocket] {
            require(path.utf8.first == UInt8(ascii: "/") && !path.utf8.contains(0), "no absolute path: \(path)")
        }
        if let url = configuration.serverURL {
            require(!url.host.isEmpty && url.host.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "a host: \(url.host)")
            require(
                url.scheme == .https || url.isLoopback || configuration.network.allowInsecureHTTP, "http: \(url.text)")
        }
    }

    /// Every value as `--check-config` shows it, in a file: reads as the same configuration.
    private static func checkWrittenAgain(_ configuration: DaemonConfiguration) {
        var text = ""
        for key in ConfigurationKey.all {
            // A proxy's password is not shown.
            if key.name == "proxy" { continue }
            if let value = key.value(configuration) { text += "\(key.name) = \(value)\n" }
        }
        do throws(ConfigurationFailure) {
            var again = try load(Array(text.utf8)).configuration
            again.network.proxy = configuration.network.proxy
            require(again == configuration, "reads as another: \(text)")
        } catch {
            fatalError("cannot be read again: \(error.userFacing.message)\n\(text)")
        }
    }

    /// The environment says it as the file does.
    private static func checkAsEnvironment(_ configuration: DaemonConfiguration, _ bytes: [UInt8]) {
        var variables: [String: String] = [:]
        for entry in ConfigurationFile(path: "", bytes: bytes).entries {
            guard let key = ConfigurationKey.named(entry.key) else { fatalError("an unknown key was taken") }
            variables[key.variable] = entry.value
        }
        do throws(ConfigurationFailure) {
            let again = try load([], variables: variables).configuration
            require(again == configuration, "the environment says something else: \(variables)")
        } catch {
            fatalError("refused from the environment: \(error.userFacing.message)")
        }
    }
}
