import Configuration
import Console
import Glibc
import PRSNLClient
import PRSNLCore

/// What the daemon is started with, and how it becomes the parts' own settings.
struct Setup {
    let configurationFile: String?
    let environment: ProcessEnvironment
    let signals: TerminationSignals
    let time: TimeSource

    /// This daemon, for the commands that its words name: with the configuration that it was given.
    var unit: ServiceUnit {
        guard let configurationFile else {
            let isOwn = DefaultPaths.ownConfiguration(environment).map { access($0, F_OK) == 0 } ?? false
            return ServiceUnit(isOwn ? .user : .system("prsnld"))
        }
        let path = environment.absolute(configurationFile)
        if let instance = DefaultPaths.instance(ofConfigurationFile: path) {
            return ServiceUnit(.system("prsnld@\(instance)"), options: ["--instance", instance])
        }
        let kind = DefaultPaths.unit(ofConfigurationFile: path).map(ServiceUnit.Kind.system) ?? .manual(path)
        // To the machine's service its unit says so, and prsnlctl finds that without being told.
        let isService = kind == .system("prsnld") && environment.variables["STATE_DIRECTORY"] != nil
        return ServiceUnit(kind, options: isService ? [] : ["--config", path])
    }

    /// The configuration, with the files that the daemon could do nothing without.
    func load() throws(UserFacingError) -> LoadedConfiguration {
        var (loaded, problems) = LoadedConfiguration.examine(file: configurationFile, environment: environment)
        if let problem = loaded.caFileProblem { problems.append(problem) }
        if let missing = ConfigurationFailure.missingInstance(configurationFile.map(environment.absolute)) {
            throw missing
        }
        guard problems.isEmpty else { throw ConfigurationFailure(problems: problems).userFacing }
        return loaded
    }

    func server(_ configuration: DaemonConfiguration) throws(UserFacingError) -> ServerURL {
        guard let server = configuration.serverURL else {
            throw UserFacingError(.noServer, "No server is configured.")
        }
        return server
    }
}
