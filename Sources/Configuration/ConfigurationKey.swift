package import PRSNLCore

/// One key: its name, what it takes, its default and its documentation. `all` is the only list of keys; parsing, errors,
/// `prsnld --check-config` and docs/configuration.md follow it.
package struct ConfigurationKey: Sendable {
    /// When a changed value counts.
    package enum Effect: String, Sendable {
        case reload
        case restart
    }

    package let name: String
    /// "duration", "size", "path", … for people.
    package let type: String
    /// The default as people write or understand it.
    package let defaultText: String
    /// What is allowed, to be read after "allowed:".
    package let allowed: String
    /// One line.
    package let summary: String
    package let effect: Effect
    /// The value that is parsed where none is given; `nil` where the default depends on the machine or there is none.
    package let defaultValue: String?
    let apply: @Sendable (String, inout DaemonConfiguration) throws(Rejection) -> Void
    let show: @Sendable (DaemonConfiguration) -> String?

    /// The name of the environment variable that stands above the file: `PRSNL_POLL_INTERVAL`.
    package var variable: String { Self.variablePrefix + name.uppercased() }
    package static let variablePrefix = "PRSNL_"

    /// The value as text, as the configuration would write it; `nil` where none is set.
    package func value(in configuration: DaemonConfiguration) -> String? { show(configuration) }

    package static func named(_ name: String) -> ConfigurationKey? { all.first { $0.name == name } }

    /// The key's row in docs/configuration.md.
    package var documentationRow: String {
        "| `\(name)` | \(type) | \(defaultText) | \(allowed) | \(summary) | \(effect.rawValue) |"
    }
}

extension ConfigurationKey {
    package static let all: [ConfigurationKey] = [
        ConfigurationKey(
            name: "server_url", type: "address", defaultText: "none, required",
            allowed: "http:// or https://, host, port, path prefix",
            summary: "The PRSNL server.", effect: .restart, defaultValue: nil,
            apply: { text, configuration throws(Rejection) in configuration.serverURL = try ServerURL(text) },
            show: { $0.serverURL?.text }),
        .path(
            "api_key_file", \.apiKeyFile, default: "systemd's credential `api-key`, else none",
            "File with the API key or the login token; mode 0600 or 0400.", effect: .reload),
        .yesOrNo(
            "anonymous", \.anonymous, effect: .reload,
            "Copy everybody's items from a main server that shows them without a login."),
        .path(
            "database", \.databaseOrNil, default: "`prsnl.sqlite` in the state directory",
            "The SQLite file of the copy."),
        .path(
            "control_socket", \.controlSocketOrNil, default: "`control.sock` in the runtime directory",
            "Where prsnlctl reaches the daemon; 107 bytes at most."),
        .yesOrNo(
            "group_may_write", \.groupMayWrite, effect: .reload,
            "Let members of the control socket's group change things with prsnlctl, and not only look."),
        .duration(
            "poll_interval", \.pollInterval, default: "5m", from: "1s", to: "7d", effect: .reload,
            "Between two looks for new items; three times as long after a quiet hour."),
        ConfigurationKey(
            name: "sweep_interval", type: "duration", defaultText: "`auto`", allowed: "`auto`, 1s to 365d",
            summary: "Between two sweeps for edits and deletions; `auto`: 6h below 2,000 items, daily above.",
            effect: .reload, defaultValue: "auto",
            apply: { text, configuration throws(Rejection) in
                configuration.sweepInterval = text == "auto" ? nil : try duration(text, from: "1s", to: "365d")
            },
            show: { $0.sweepInterval.map(DurationText.describe) ?? "auto" }),
        .number("page_size", \.pageSize, default: "100", in: 1...100, "Items asked for at once."),
        .duration(
            "lookup_interval", \.lookupInterval, default: "10m", from: "1s", to: "1d", effect: .reload,
            "How long the server may take to show a new item whose answer was lost, before it is sent again."),
        .yesOrNo(
            "resend_unknown", \.resendUnknown, effect: .reload,
            "Send a write again where nobody can say whether it was applied, at the risk of doubling it."),
        ConfigurationKey(
            name: "probe", type: "word", defaultText: "`http`", allowed: "`http`, `icmp`, `tcp`",
            summary:
                "How a server that does not answer is asked whether it is back; `icmp` and `tcp` go ahead of the request.",
            effect: .reload, defaultValue: "http",
            apply: { text, configuration throws(Rejection) in
                guard let kind = ProbeKind(rawValue: text) else {
                    throw Rejection("is not a kind of probe: \(quote(text))")
                }
                configuration.probe = kind
            },
            show: { $0.probe.rawValue }),
        ConfigurationKey(
            name: "log_level", type: "level", defaultText: "`info`",
            allowed: LogLevel.names.map(\.name).joined(separator: ", "),
            summary: "The least urgent messages to log.", effect: .reload, defaultValue: "info",
            apply: { text, configuration throws(Rejection) in
                guard let level = LogLevel.names.first(where: { $0.name == text.lowercased() }) else {
                    throw Rejection("is not a log level: \(quote(text))")
                }
                configuration.logLevel = level.level
            },
            show: { configuration in LogLevel.names.first { $0.level == configuration.logLevel }?.name }),
        ConfigurationKey(
            name: "proxy", type: "address", defaultText: "the environment's proxy variables",
            allowed: "`none`, or an address that libcurl takes, like http://proxy.example.org:3128",
            summary: "The proxy towards the server.", effect: .restart, defaultValue: nil,
            apply: { text, configuration throws(Rejection) in configuration.proxy = text == "none" ? "" : text },
            // A proxy's address may hold a password, so what is shown stops before it.
            show: { configuration in configuration.proxy.map { $0.isEmpty ? "none" : withoutPassword($0) } }),
        .yesOrNo(
            "allow_insecure_http", \.allowInsecureHTTP, effect: .restart,
            "Allow http:// to a server that is not this machine."),
        .path("ca_file", \.caFile, default: "the system's", "CA certificates (PEM) to trust instead of the system's."),
        .duration(
            "connect_timeout", \.connectTimeout, default: "10s", from: "100ms", to: "10m",
            "For the name, the connection and TLS together."),
        .duration(
            "stall_timeout", \.stallTimeout, default: "30s", from: "1s", to: "1h",
            "The longest time without a byte of an answer."),
        .duration("request_timeout", \.requestTimeout, default: "60s", from: "1s", to: "1h", "For a request in all."),
        .size(
            "max_answer_size", \.maximumAnswerSize, default: "16MiB", from: "64KiB", to: "1GiB",
            "A larger page, decompressed, is refused and asked for in parts. A single item may have 16 MiB, all else 1 MiB."
        ),
        .size(
            "max_database_size", \.maximumDatabaseSize, default: "16GiB", from: "16MiB", to: "1024GiB",
            "Nothing more is pulled once the database is larger; writes are still queued and sent."),
    ]
}

extension ConfigurationKey {
    private static func size(
        _ name: String, _ property: WritableKeyPath<DaemonConfiguration, Int> & Sendable, default defaultText: String,
        from lower: String, to upper: String, _ summary: String
    ) -> ConfigurationKey {
        ConfigurationKey(
            name: name, type: "size", defaultText: "`\(defaultText)`", allowed: "\(lower) to \(upper)",
            summary: summary, effect: .restart, defaultValue: defaultText,
            apply: { text, configuration throws(Rejection) in
                guard let bytes = SizeText.parse(text) else { throw Rejection("is not a size: \(quote(text))") }
                guard let lower = SizeText.parse(lower), let upper = SizeText.parse(upper),
                    (lower...upper).contains(bytes)
                else { throw Rejection("is out of range: \(quote(text))") }
                configuration[keyPath: property] = bytes
            },
            show: { SizeText.describe($0[keyPath: property]) })
    }

    private static func path(
        _ name: String, _ property: WritableKeyPath<DaemonConfiguration, String?> & Sendable,
        default defaultText: String, _ summary: String, effect: Effect = .restart
    ) -> ConfigurationKey {
        ConfigurationKey(
            name: name, type: "path", defaultText: defaultText, allowed: "a path; `~/` is the home directory",
            summary: summary, effect: effect, defaultValue: nil,
            apply: { text, configuration throws(Rejection) in
                guard !text.utf8.contains(0) else { throw Rejection("contains a NUL byte") }
                configuration[keyPath: property] = text
            },
            show: { $0[keyPath: property] })
    }

    private static func duration(
        _ name: String, _ property: WritableKeyPath<DaemonConfiguration, Duration> & Sendable,
        default defaultValue: String, from lowest: String, to highest: String, effect: Effect = .restart,
        _ summary: String
    ) -> ConfigurationKey {
        ConfigurationKey(
            name: name, type: "duration", defaultText: "`\(defaultValue)`", allowed: "\(lowest) to \(highest)",
            summary: summary, effect: effect, defaultValue: defaultValue,
            apply: { text, configuration throws(Rejection) in
                configuration[keyPath: property] = try duration(text, from: lowest, to: highest)
            },
            show: { DurationText.describe($0[keyPath: property]) })
    }

    private static func yesOrNo(
        _ name: String, _ property: WritableKeyPath<DaemonConfiguration, Bool> & Sendable, effect: Effect,
        _ summary: String
    ) -> ConfigurationKey {
        ConfigurationKey(
            name: name, type: "yes or no", defaultText: "`no`", allowed: "yes, no, true, false, on, off, 1, 0",
            summary: summary, effect: effect, defaultValue: "no",
            apply: { text, configuration throws(Rejection) in configuration[keyPath: property] = try flag(text) },
            show: { $0[keyPath: property] ? "yes" : "no" })
    }

    private static func number(
        _ name: String, _ property: WritableKeyPath<DaemonConfiguration, Int> & Sendable,
        default defaultValue: String, in range: ClosedRange<Int>, _ summary: String
    ) -> ConfigurationKey {
        ConfigurationKey(
            name: name, type: "number", defaultText: "`\(defaultValue)`",
            allowed: "\(range.lowerBound) to \(range.upperBound)", summary: summary, effect: .reload,
            defaultValue: defaultValue,
            apply: { text, configuration throws(Rejection) in
                guard let number = Int(text) else { throw Rejection("is not a whole number: \(quote(text))") }
                guard range.contains(number) else { throw Rejection("is out of range: \(quote(text))") }
                configuration[keyPath: property] = number
            },
            show: { String($0[keyPath: property]) })
    }

    private static func duration(_ text: String, from lowest: String, to highest: String) throws(Rejection) -> Duration
    {
        guard let duration = DurationText.parse(text) else {
            throw Rejection("is not a duration (300, 5m, 1h30m): \(quote(text))")
        }
        if let least = DurationText.parse(lowest), let most = DurationText.parse(highest),
            duration < least || duration > most
        {
            throw Rejection("is out of range: \(quote(text))")
        }
        return duration
    }

    private static func flag(_ text: String) throws(Rejection) -> Bool {
        switch text.lowercased() {
        case "yes", "true", "on", "1": true
        case "no", "false", "off", "0": false
        default: throw Rejection("is neither yes nor no: \(quote(text))")
        }
    }

    private static func quote(_ text: String) -> String {
        text.count > 60 ? "\"\(text.prefix(60))…\"" : "\"\(text)\""
    }

    private static func withoutPassword(_ address: String) -> String {
        guard let at = address.lastIndex(of: "@") else { return address }
        let scheme = address.firstRange(of: "://").map { address[..<$0.upperBound] } ?? ""
        return "\(scheme)***\(address[at...])"
    }
}

extension DaemonConfiguration {
    // The table's path keys are optional values; these two always get a default afterwards.
    fileprivate var databaseOrNil: String? {
        get { database.isEmpty ? nil : database }
        set { database = newValue ?? "" }
    }
    fileprivate var controlSocketOrNil: String? {
        get { controlSocket.isEmpty ? nil : controlSocket }
        set { controlSocket = newValue ?? "" }
    }
}

extension LogLevel {
    /// The levels by the names that the configuration and the log use, most urgent first.
    package static let names: [(level: LogLevel, name: String)] = [
        (.error, "error"), (.warning, "warning"), (.notice, "notice"), (.info, "info"), (.debug, "debug"),
    ]
}
