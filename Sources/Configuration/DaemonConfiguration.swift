package import PRSNLCore

/// Every setting, read and checked. Paths are absolute. Defaults come from `ConfigurationKey.all`, not from here: the
/// values below are only what a property holds before they are applied.
package struct DaemonConfiguration: Sendable, Equatable {
    /// `nil` where none is configured; only the daemon needs one.
    package internal(set) var serverURL: ServerURL?
    package internal(set) var apiKeyFile: String?
    package internal(set) var anonymous = false
    package internal(set) var database = ""
    package internal(set) var controlSocket = ""
    package internal(set) var groupMayWrite = false
    package internal(set) var pollInterval: Duration = .zero
    /// `nil`: the engine decides by the size of the timeline.
    package internal(set) var sweepInterval: Duration?
    package internal(set) var pageSize = 0
    package internal(set) var lookupInterval: Duration = .zero
    package internal(set) var resendUnknown = false
    package internal(set) var probe = ProbeKind.http
    package internal(set) var logLevel = LogLevel.info
    /// As libcurl's CURLOPT_PROXY takes it: `""` for none whatever the environment says, `nil` for what it says.
    package internal(set) var proxy: String?
    package internal(set) var allowInsecureHTTP = false
    package internal(set) var caFile: String?
    package internal(set) var connectTimeout: Duration = .zero
    package internal(set) var stallTimeout: Duration = .zero
    package internal(set) var requestTimeout: Duration = .zero
    /// Bytes.
    package internal(set) var maximumAnswerSize = 0
    /// Bytes.
    package internal(set) var maximumDatabaseSize = 0

    init() {}
}
