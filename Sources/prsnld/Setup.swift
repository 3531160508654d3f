import Configuration
import PRSNLClient
import PRSNLCore
import SyncEngine

/// What the daemon is started with, and how it becomes the parts' own settings.
struct Setup {
    let configurationFile: String?
    let environment: ProcessEnvironment
    let signals: TerminationSignals
    let time: TimeSource

    /// The configuration, with the files that the daemon could do nothing without.
    func load() throws(UserFacingError) -> LoadedConfiguration {
        var (loaded, problems) = LoadedConfiguration.examine(file: configurationFile, environment: environment)
        if let problem = loaded.caFileProblem { problems.append(problem) }
        guard problems.isEmpty else { throw ConfigurationFailure(problems: problems).userFacing }
        return loaded
    }

    func server(_ configuration: DaemonConfiguration) throws(UserFacingError) -> ServerURL {
        guard let server = configuration.serverURL else {
            throw UserFacingError(.noServer, "No server is configured.")
        }
        return server
    }

    func syncSettings(_ configuration: DaemonConfiguration) -> SyncSettings {
        var settings = SyncSettings()
        settings.pollInterval = configuration.pollInterval
        settings.sweepInterval = configuration.sweepInterval
        settings.pageSize = configuration.pageSize
        settings.anonymous = configuration.anonymous
        settings.lookupInterval = configuration.lookupInterval
        settings.resendUnknown = configuration.resendUnknown
        settings.probe = configuration.probe
        return settings
    }
}
