package import Configuration
package import PRSNLClient

extension ClientConfiguration {
    /// How the configured server is asked, by the daemon and by prsnlctl: one place, so that neither forgets a certificate
    /// authority or a limit that the other minds.
    ///
    /// - Parameters:
    ///   - configuration: of proxy, certificates, timeouts and sizes.
    ///   - server: a server's base URL, which need not be the configured one.
    ///   - userAgent: `prsnld/1.2.3`.
    package init(
        _ configuration: DaemonConfiguration, server: String, credentials: Credentials, userAgent: String
    ) {
        self.init(serverURL: server, credentials: credentials)
        proxy = configuration.proxy
        allowInsecureHTTP = configuration.allowInsecureHTTP
        caFile = configuration.caFile
        connectTimeout = configuration.connectTimeout
        stallTimeout = configuration.stallTimeout
        totalTimeout = configuration.requestTimeout
        maximumAnswerSize = configuration.maximumAnswerSize
        self.userAgent = userAgent
    }
}
