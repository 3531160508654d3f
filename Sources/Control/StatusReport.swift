public import PRSNLCore
public import Store

/// The state of the copy and of the daemon: the JSON of `prsnlctl status --json` and of the control socket.
///
/// A public contract, member by member in docs/cli.md. Within one `schema_version` members are only added. What is not
/// known is `null`.
public struct StatusReport: Sendable, Equatable, Codable {
    public static let schemaVersion = 1

    /// Who answered.
    public enum Source: String, Sendable, Codable { case daemon, file }

    /// Why a person should look.
    public enum Attention: String, Sendable, Codable {
        case copyIncomplete = "copy_incomplete"
        case deletionsHeld = "deletions_held"
        /// Writes wait for somebody to decide about them.
        case writesParked = "writes_parked"
        /// Writes fail again and again: see `outbox.failing`.
        case writesFailing = "writes_failing"
        /// The daemon waits for something that only a person can do: see `daemon.problem`.
        case problem
    }

    public struct Daemon: Sendable, Equatable, Codable {
        public var pid: Int32
        public var version: String
        public var since: Timestamp
        /// `starting`, `idle`, `pulling`, `waiting`, `stopped`.
        public var activity: String
        @Nullable public var nextPullAt: Timestamp? = nil
        @Nullable public var problem: ErrorReport? = nil
        @Nullable public var connectivity: Connectivity? = nil
        @Nullable public var network: Network? = nil
        /// By endpoint, in the order of their names.
        @Nullable public var requests: [Requests]? = nil

        enum CodingKeys: String, CodingKey {
            case pid, version, since, activity, problem, connectivity, network, requests
            case nextPullAt = "next_pull_at"
        }
    }

    /// Whether the server can be used: by what the kernel says of the way there, and by the server's answers.
    public struct Connectivity: Sendable, Equatable, Codable {
        /// `unknown`, `online`, `offline`, `unreachable`, `portal`, `unauthorized`.
        public var state: String
        @Nullable public var since: Timestamp? = nil
        @Nullable public var reason: ErrorReport? = nil

        public init(state: String, since: Timestamp?, reason: ErrorReport?) {
            self.state = state
            self.since = since
            self.reason = reason
        }
    }

    /// How the daemon learns what happens to the network.
    public struct Network: Sendable, Equatable, Codable {
        /// `netlink`; `polling`, where netlink is not permitted; `none`.
        public var listening: String
        /// Why it is not netlink.
        @Nullable public var listeningReason: String? = nil
        /// The way to the server in words.
        public var route: String

        enum CodingKeys: String, CodingKey {
            case listening, route
            case listeningReason = "listening_reason"
        }

        public init(listening: String, listeningReason: String?, route: String) {
            self.listening = listening
            self.listeningReason = listeningReason
            self.route = route
        }
    }

    /// What the requests to one endpoint have cost since the daemon started.
    public struct Requests: Sendable, Equatable, Codable {
        /// `GET /api/timeline`; ids stand as `{id}`.
        public var endpoint: String
        public var requests: Int
        public var failures: Int
        public var bytesSent: Int
        public var bytesReceived: Int
        /// Milliseconds, of a request on average.
        public var meanDuration: Double
        /// Milliseconds, of the longest call.
        public var longestDuration: Double

        enum CodingKeys: String, CodingKey {
            case endpoint, requests, failures
            case bytesSent = "bytes_sent"
            case bytesReceived = "bytes_received"
            case meanDuration = "mean_duration"
            case longestDuration = "longest_duration"
        }

        /// - Parameters:
        ///   - duration: of all requests together.
        ///   - longest: of one call.
        public init(
            endpoint: String, requests: Int, failures: Int, bytesSent: Int, bytesReceived: Int, duration: Duration,
            longest: Duration
        ) {
            self.endpoint = endpoint
            self.requests = requests
            self.failures = failures
            self.bytesSent = bytesSent
            self.bytesReceived = bytesReceived
            meanDuration = Double(duration.wholeMicroseconds / Int64(max(1, requests))) / 1_000
            longestDuration = Double(longest.wholeMicroseconds) / 1_000
        }
    }

    public struct Server: Sendable, Equatable, Codable {
        @Nullable public var url: String? = nil
        /// `C`, `P` or `E`.
        @Nullable public var dialect: String? = nil
        @Nullable public var accountID: String? = nil
        @Nullable public var accountName: String? = nil

        enum CodingKeys: String, CodingKey {
            case url, dialect
            case accountID = "account_id"
            case accountName = "account_name"
        }
    }

    /// Both ends belong to it. `null` is an open end: everything older, or everything newer.
    public struct Gap: Sendable, Equatable, Codable {
        @Nullable public var from: Timestamp? = nil
        @Nullable public var to: Timestamp? = nil
    }

    public struct Copy: Sendable, Equatable, Codable {
        public var complete: Bool
        @Nullable public var newAsOf: Timestamp? = nil
        @Nullable public var editsAsOf: Timestamp? = nil
        public var live: Int
        public var deleted: Int
        public var rejected: Int
        public var suspects: Int
        public var deletionsHeld: Int
        public var gaps: [Gap]
        public var possiblyMoreAt: [Timestamp]

        enum CodingKeys: String, CodingKey {
            case complete, live, deleted, rejected, suspects, gaps
            case newAsOf = "new_as_of"
            case editsAsOf = "edits_as_of"
            case deletionsHeld = "deletions_held"
            case possiblyMoreAt = "possibly_more_at"
        }
    }

    /// Writes that have failed at least four times, or were refused, and are still tried.
    public struct Failing: Sendable, Equatable, Codable {
        public var count: Int
        /// Those of them that somebody asked for. The others are titles and tags that follow a capture.
        public var ownCount: Int
        /// The first of them, and what it failed with last.
        public var entry: Int64
        @Nullable public var error: ErrorReport? = nil

        enum CodingKeys: String, CodingKey {
            case count, entry, error
            case ownCount = "own_count"
        }

        init(_ failing: CopySummary.Failing) {
            count = failing.count
            ownCount = failing.ownCount
            entry = failing.entry
            error = failing.code.map { ErrorReport(code: $0, message: failing.message, entry: failing.entry) }
        }
    }

    public struct Outbox: Sendable, Equatable, Codable {
        /// To be sent, those that may have been applied included.
        public var waiting: Int
        public var parked: Int
        /// Of the waiting ones, those that the server may have applied.
        public var unknown: Int
        @Nullable public var oldestWaiting: Timestamp? = nil
        @Nullable public var failing: Failing? = nil

        enum CodingKeys: String, CodingKey {
            case waiting, parked, unknown, failing
            case oldestWaiting = "oldest_waiting"
        }
    }

    public struct File: Sendable, Equatable, Codable {
        public var path: String
        /// Bytes.
        public var size: Int64
        public var walSize: Int64
        public var schemaVersion: Int

        enum CodingKeys: String, CodingKey {
            case path, size
            case walSize = "wal_size"
            case schemaVersion = "schema_version"
        }
    }

    public var schemaVersion = StatusReport.schemaVersion
    public var source: Source
    public var generatedAt: Timestamp
    public var attention: [Attention]
    @Nullable public var daemon: Daemon? = nil
    public var server: Server
    public var copy: Copy
    @Nullable public var outbox: Outbox? = nil
    @Nullable public var pull: PullProgress? = nil
    @Nullable public var lastError: RecurringErrorReport? = nil
    public var file: File

    enum CodingKeys: String, CodingKey {
        case source, attention, daemon, server, copy, outbox, pull, file
        case schemaVersion = "schema_version"
        case generatedAt = "generated_at"
        case lastError = "last_error"
    }

    /// 0, or 4 where `attention` has a reason.
    public var exitCode: ExitCode { attention.isEmpty ? .fine : .needsAttention }
}

/// The pull under way: in the status and on each progress line of `sync` with `wait`.
public struct PullProgress: Sendable, Equatable, Codable {
    /// `backfill`, `head`, `sweep`, `pass`, `check`.
    public var kind: String
    public var startedAt: Timestamp
    public var pages = 0
    /// Read from the server so far, known ones included.
    public var items = 0
    @Nullable public var expectedItems: Int? = nil
    /// Where on the timeline the pull stands.
    @Nullable public var position: Timestamp? = nil
    /// Items per second since the pull began.
    public var rate: Double = 0

    enum CodingKeys: String, CodingKey {
        case kind, pages, items, position, rate
        case startedAt = "started_at"
        case expectedItems = "expected_items"
    }

    public init(kind: PullRecord.Kind, startedAt: Timestamp) {
        self.kind = kind.rawValue
        self.startedAt = startedAt
    }
}
