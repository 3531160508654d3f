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

    func load() throws(UserFacingError) -> LoadedConfiguration {
        do throws(ConfigurationFailure) {
            return try LoadedConfiguration.load(file: configurationFile, environment: environment)
        } catch {
            throw error.userFacing
        }
    }

    func server(_ configuration: DaemonConfiguration) throws(UserFacingError) -> ServerURL {
        guard let server = configuration.serverURL else {
            throw UserFacingError(.noServer, "No server is configured.")
        }
        return server
    }

    func clientConfiguration(
        _ configuration: DaemonConfiguration, server: ServerURL, credentials: Credentials, userAgent: String
    ) -> ClientConfiguration {
        var client = ClientConfiguration(serverURL: server.text, credentials: credentials)
        client.proxy = configuration.proxy
        client.allowInsecureHTTP = configuration.allowInsecureHTTP
        client.caFile = configuration.caFile
        client.connectTimeout = configuration.connectTimeout
        client.stallTimeout = configuration.stallTimeout
        client.totalTimeout = configuration.requestTimeout
        client.maximumAnswerSize = configuration.maximumAnswerSize
        client.userAgent = userAgent
        return client
    }

    func syncSettings(_ configuration: DaemonConfiguration) -> SyncSettings {
        var settings = SyncSettings()
        settings.pollInterval = configuration.pollInterval
        settings.sweepInterval = configuration.sweepInterval
        settings.pageSize = configuration.pageSize
        settings.lookupInterval = configuration.lookupInterval
        settings.resendUnknown = configuration.resendUnknown
        settings.probe = configuration.probe
        return settings
    }
}
