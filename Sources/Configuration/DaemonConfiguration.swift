public import PRSNLCore

/// Every setting, read and checked. Paths are absolute. Defaults come from `ConfigurationKey.all`, not from here: the
/// values below are only what a property holds before they are applied.
public struct DaemonConfiguration: Sendable, Equatable {
    /// `nil` where none is configured; only the daemon needs one.
    public internal(set) var serverURL: ServerURL?
    public internal(set) var apiKeyFile: String?
    public internal(set) var anonymous = false
    public internal(set) var database = ""
    public internal(set) var controlSocket = ""
    public internal(set) var groupMayWrite = false
    public internal(set) var pollInterval: Duration = .zero
    /// `nil`: the engine decides by the size of the timeline.
    public internal(set) var sweepInterval: Duration?
    public internal(set) var pageSize = 0
    public internal(set) var lookupInterval: Duration = .zero
    public internal(set) var resendUnknown = false
    public internal(set) var probe = ProbeKind.http
    public internal(set) var logLevel = LogLevel.info
    /// As libcurl's CURLOPT_PROXY takes it: `""` for none whatever the environment says, `nil` for what it says.
    public internal(set) var proxy: String?
    public internal(set) var allowInsecureHTTP = false
    public internal(set) var caFile: String?
    public internal(set) var connectTimeout: Duration = .zero
    public internal(set) var stallTimeout: Duration = .zero
    public internal(set) var requestTimeout: Duration = .zero
    /// Bytes.
    public internal(set) var maximumAnswerSize = 0
    /// Bytes.
    public internal(set) var maximumDatabaseSize = 0

    init() {}
}
