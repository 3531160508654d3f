package import PRSNLCore

/// Every setting, read and checked. Paths are absolute.
///
/// A new key is a property here, with its default, and its entry in `ConfigurationKey.all` below. The part that uses it
/// reads the property. docs/configuration.md has the row that a test compares with the entry.
package struct DaemonConfiguration: Sendable, Equatable {
    /// `nil` where none is configured. Only the daemon needs one.
    package internal(set) var serverURL: ServerURL?
    package internal(set) var apiKeyFile: String?
    package internal(set) var database = ""
    package internal(set) var controlSocket = ""
    package internal(set) var groupMayWrite = false
    package internal(set) var logLevel = LogLevel.info
    /// Bytes.
    package internal(set) var maximumDatabaseSize = 16 << 30
    package internal(set) var allowsNetworkFileSystem = false
    package internal(set) var sync = SyncSettings()
    package internal(set) var network = NetworkSettings()

    init() {}
}

/// How the copy is kept: for the engine, which takes other values at a reload.
package struct SyncSettings: Sendable, Equatable {
    /// Between two looks at the head. Three times as long after a quiet hour.
    package var pollInterval: Duration = .seconds(300)
    /// Between two sweeps; `nil`: daily above 2,000 items, every 6 h below.
    package var sweepInterval: Duration?
    /// 1 to 100.
    package var pageSize = 100
    /// Whether a server that names no account without credentials is copied without them: everyone's items.
    package var anonymous = false
    /// How long the server may take to show a new note: between the two looks after which one that is not found is sent
    /// again.
    package var lookupInterval: Duration = .seconds(600)
    /// Whether a write whose outcome cannot be found out is sent again, at the risk of doubling it.
    package var resendUnknown = false
    package var probe = ProbeKind.http
    /// Whether the texts of items are copied.
    package var texts = true
    /// Bytes of one text.
    package var textMaxSize = 8 << 20
    /// Of all texts together that the server has replaced, in bytes.
    package var formerTextsMaxSize = 64 << 20
    /// Whether the full-text index is kept up to date.
    package var searchIndex = true

    package init() {}
}

/// How the server is reached: for the client of the daemon and of prsnlctl, so that neither forgets a certificate authority
/// or a limit that the other observes.
package struct NetworkSettings: Sendable, Equatable {
    /// As libcurl's CURLOPT_PROXY takes it: `""` for none in spite of the environment, `nil` for what it says.
    package var proxy: String?
    /// Plain http to anything but loopback is refused without it.
    package var allowInsecureHTTP = false
    /// A file of CA certificates. `nil` for the system's.
    package var caFile: String?
    package var connectTimeout: Duration = .seconds(10)
    /// The longest time without a byte of progress.
    package var stallTimeout: Duration = .seconds(30)
    package var totalTimeout: Duration = .seconds(60)
    /// Bytes of an answer's body, decompressed.
    package var maximumAnswerSize = 16 << 20

    package init() {}
}

extension ConfigurationKey {
    package static let all: [ConfigurationKey] = [
        ConfigurationKey(
            name: "server_url", type: "address", defaultText: "none, required",
            allowed: "http:// or https://, host, port, path prefix",
            summary: "The PRSNL server.", effect: .restart, defaultValue: nil,
            apply: { text, configuration throws(Rejection) in configuration.serverURL = try ServerURL(text) },
            value: { $0.serverURL?.text }),
        .path(
            "api_key_file", \.apiKeyFile, default: "systemd's credential `api-key`, else none",
            "File with the API key or the login token; mode 0600 or 0400.", effect: .reload),
        .yesOrNo(
            "anonymous", \.sync.anonymous, effect: .reload,
            "Copy everyone's items from a main server that shows them without a login."),
        .path(
            "database", \.database.orNil, default: "`prsnl.sqlite` in the state directory",
            "The SQLite file of the copy."),
        .path(
            "control_socket", \.controlSocket.orNil, default: "`control.sock` in the runtime directory",
            "Where prsnlctl reaches the daemon; 107 bytes at most."),
        .yesOrNo(
            "group_may_write", \.groupMayWrite, effect: .reload,
            "Let members of the control socket's group change things with prsnlctl, and not only look."),
        .duration(
            "poll_interval", \.sync.pollInterval, from: "1s", to: "7d", effect: .reload,
            "How often to look for new items, give or take 10 %. After a quiet hour three times this, after a quiet day eight times."
        ),
        ConfigurationKey(
            name: "sweep_interval", type: "duration", defaultText: "`auto`", allowed: "`auto`, 1s to 365d",
            summary: "How often to sweep for edits and deletions; `auto`: 6h below 2,000 items, daily above.",
            effect: .reload, defaultValue: "auto",
            apply: { text, configuration throws(Rejection) in
                configuration.sync.sweepInterval = text == "auto" ? nil : try duration(text, from: "1s", to: "365d")
            },
            value: { $0.sync.sweepInterval.map(DurationText.describe) ?? "auto" }),
        .number("page_size", \.sync.pageSize, in: 1...100, "Items asked for at once."),
        .duration(
            "lookup_interval", \.sync.lookupInterval, from: "1s", to: "1d", effect: .reload,
            "How long the server may take to show a new item whose answer was lost, before it is sent again."),
        .yesOrNo(
            "resend_unknown", \.sync.resendUnknown, effect: .reload,
            "Send a write again where it is not known whether it was applied, at the risk of doubling it."),
        .yesOrNo(
            "texts", \.sync.texts, effect: .reload,
            "Copy the text of each item too: what an article says, a note, a transcription."),
        .size(
            "text_max_size", \.sync.textMaxSize, from: "64KiB", to: "1GiB", effect: .reload,
            "A longer text is left on the server and counted; `prsnlctl sync --text ID` fetches it."),
        .size(
            "former_texts_max_size", \.sync.formerTextsMaxSize, from: "0", to: "1GiB", effect: .reload,
            "How much of replaced texts is kept: the last three of an item, for 30 days. `0` keeps none."),
        .yesOrNo(
            "search_index", \.sync.searchIndex, effect: .reload,
            "Keep the index for `prsnlctl search`, which takes about half as much room as the texts."),
        value(
            "probe", "word", \.sync.probe, allowed: "`http`, `icmp`", effect: .reload,
            "How a server that does not answer is asked whether it is back; `icmp` goes ahead of the request.",
            describe: \.rawValue
        ) { text throws(Rejection) in
            if let kind = ProbeKind(rawValue: text) { return kind }
            throw Rejection("is not a kind of probe: \(quote(text))")
        },
        value(
            "log_level", "level", \.logLevel, allowed: LogLevel.allCases.map(\.name).joined(separator: ", "),
            effect: .reload, "The least urgent messages to log.", describe: \.name
        ) { text throws(Rejection) in
            if let level = LogLevel.allCases.first(where: { $0.name == text.lowercased() }) { return level }
            throw Rejection("is not a log level: \(quote(text))")
        },
        ConfigurationKey(
            name: "proxy", type: "address", defaultText: "the environment's proxy variables",
            allowed: "`none`, or an address that libcurl takes, like http://proxy.example.org:3128",
            summary: "The proxy towards the server.", effect: .restart, defaultValue: nil,
            apply: { text, configuration throws(Rejection) in
                configuration.network.proxy = text == "none" ? "" : text
            },
            // A proxy's address may hold a password, so what is shown stops before it.
            value: { configuration in configuration.network.proxy.map { $0.isEmpty ? "none" : withoutPassword($0) } }),
        .yesOrNo(
            "allow_insecure_http", \.network.allowInsecureHTTP, effect: .restart,
            "Allow http:// to a server that is not this machine."),
        .path(
            "ca_file", \.network.caFile, default: "the system's",
            "CA certificates (PEM) to trust instead of the system's."),
        .duration(
            "connect_timeout", \.network.connectTimeout, from: "100ms", to: "10m",
            "For the name, the connection and TLS together."),
        .duration(
            "stall_timeout", \.network.stallTimeout, from: "1s", to: "1h",
            "The longest time without a byte of an answer."),
        .duration(
            "request_timeout", \.network.totalTimeout, from: "1s", to: "1h",
            "The longest that one request may take, from the connection to the last byte."),
        .size(
            "max_answer_size", \.network.maximumAnswerSize, from: "64KiB", to: "1GiB",
            "A page that is larger than half of this, decompressed, is refused and asked for in parts. A single item may have 16 MiB, all else 1 MiB."
        ),
        .size(
            "max_database_size", \.maximumDatabaseSize, from: "16MiB", to: "1024GiB",
            "Nothing more is pulled once the database is larger; writes are still queued and sent."),
        .yesOrNo(
            "allow_network_file_system", \.allowsNetworkFileSystem, effect: .restart,
            "Allow a database on NFS, SMB, 9p and the like, where SQLite's log may lose data."),
    ]
}

extension String {
    /// The table's path keys are optional values. `database` and `control_socket` always get a default afterwards.
    fileprivate var orNil: String? {
        get { isEmpty ? nil : self }
        set { self = newValue ?? "" }
    }
}
