package import Console
import Control
package import PRSNLCore
package import Store

/// Asks for the state of the copy and of the daemon.
package struct StatusRequest: BareRequest {
    package typealias Answer = StatusReport
    package static let command = "status"
    package var isChange: Bool { false }

    package init() {}
}

/// The state of the copy and of the daemon: the JSON of `prsnlctl status --json` and of the control socket.
///
/// A public contract, member by member in docs/cli.md. Within one `schema_version` members are only added. What is not
/// known is `null`.
package struct StatusReport: ControlReply {
    package static let type = "status"

    package static let schemaVersion = 1

    /// Who answered.
    package enum Source: String, Sendable, Codable { case daemon, file }

    /// Why a person should look.
    package enum Attention: String, Sendable, Codable {
        case copyIncomplete = "copy_incomplete"
        case deletionsHeld = "deletions_held"
        /// Writes wait for a decision by a person.
        case writesParked = "writes_parked"
        /// Writes fail again and again: see `outbox.failing`.
        case writesFailing = "writes_failing"
        /// Nothing can be sent, though the server can be reached: see `outbox.problem`.
        case writesHeld = "writes_held"
        /// The daemon waits for something that only a person can do: see `daemon.problem`.
        case problem
    }

    package struct Daemon: Sendable, Equatable, Codable {
        package var pid: Int32
        package var version: String
        package var since: Timestamp
        /// `starting`, `idle`, `pulling`, `waiting`, `stopped`.
        package var activity: String
        @Nullable package var nextPullAt: Timestamp? = nil
        @Nullable package var problem: ErrorReport? = nil
        @Nullable package var connectivity: Connectivity? = nil
        @Nullable package var network: Network? = nil
        /// By endpoint, in the order of their names.
        @Nullable package var requests: [Requests]? = nil
    }

    /// Why no daemon has answered, so that the file did.
    package struct Absence: Sendable, Equatable, Codable {
        package enum State: String, Sendable, Codable {
            /// It does not run, and closed the copy when it ended.
            case stopped
            /// systemd has given up, or it ended without closing the copy.
            case failed
            /// It runs and does not answer in time.
            case notResponding = "not_responding"
            /// It does not answer this user.
            case refused
        }

        package var state: State
        /// Why, as far as systemd or the file knows.
        @Nullable package var reason: String? = nil
        /// Where there is more about it.
        @Nullable package var nextCommand: NextCommand? = nil

        package init(_ state: State, reason: String? = nil, nextCommand: NextCommand? = nil) {
            self.state = state
            self.reason = reason
            self.nextCommand = nextCommand
        }
    }

    /// Whether the server can be used: by what the kernel says of the way there, and by the server's answers.
    package struct Connectivity: Sendable, Equatable, Codable {
        /// `unknown`, `online`, `offline`, `unreachable`, `portal`, `unauthorized`.
        package var state: String
        @Nullable package var since: Timestamp? = nil
        @Nullable package var reason: ErrorReport? = nil

        package init(state: String, since: Timestamp?, reason: ErrorReport?) {
            self.state = state
            self.since = since
            self.reason = reason
        }
    }

    /// How the daemon learns what happens to the network.
    package struct Network: Sendable, Equatable, Codable {
        /// `netlink`; `polling`, where netlink is not permitted; `none`.
        package var listening: String
        /// Why it is not netlink.
        @Nullable package var listeningReason: String? = nil
        /// The way to the server in words.
        package var route: String

        package init(listening: String, listeningReason: String?, route: String) {
            self.listening = listening
            self.listeningReason = listeningReason
            self.route = route
        }
    }

    /// What the requests to one endpoint have cost since the daemon started.
    package struct Requests: Sendable, Equatable, Codable {
        /// `GET /api/timeline`; ids stand as `{id}`.
        package var endpoint: String
        package var requests: Int
        package var failures: Int
        package var bytesSent: Int
        package var bytesReceived: Int
        /// Milliseconds, of a request on average.
        package var meanDuration: Double
        /// Milliseconds, of the longest call.
        package var longestDuration: Double

        /// - Parameters:
        ///   - duration: of all requests together.
        ///   - longest: of one call.
        package init(
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

    package struct Server: Sendable, Equatable, Codable {
        @Nullable package var url: String? = nil
        /// `C`, `P` or `E`.
        @Nullable package var dialect: String? = nil
        @Nullable package var accountID: String? = nil
        @Nullable package var accountName: String? = nil
    }

    /// Both ends belong to it. `null` is an open end: everything older, or everything newer.
    package struct Gap: Sendable, Equatable, Codable {
        @Nullable package var from: Timestamp? = nil
        @Nullable package var to: Timestamp? = nil
    }

    package struct Copy: Sendable, Equatable, Codable {
        package var complete: Bool
        @Nullable package var newAsOf: Timestamp? = nil
        @Nullable package var editsAsOf: Timestamp? = nil
        package var live: Int
        package var deleted: Int
        package var rejected: Int
        package var suspects: Int
        package var deletionsHeld: Int
        package var gaps: [Gap]
        package var possiblyMoreAt: [Timestamp]
        @Nullable package var texts: Texts? = nil
        @Nullable package var search: Search? = nil
    }

    /// The index of words.
    package struct Search: Sendable, Equatable, Codable {
        /// When everything could be found last.
        @Nullable package var asOf: Timestamp? = nil
        /// Items that are not in it yet, or have changed since.
        package var notIndexed: Int
        /// Whether the daemon keeps it up to date; `null` where only the file was asked.
        @Nullable package var enabled: Bool? = nil
    }

    /// The texts of items.
    package struct Texts: Sendable, Equatable, Codable {
        package var complete: Bool
        @Nullable package var asOf: Timestamp? = nil
        /// Items whose text is here.
        package var present: Int
        /// Items whose text is not, or an older one: 20,000 at most.
        package var missing: Int
        package var tooLarge: Int
        package var failing: Int
        /// Whether the daemon copies them; `null` where only the file was asked.
        @Nullable package var enabled: Bool? = nil
        /// What keeps all of them away, else what the newest of the failing ones failed with.
        @Nullable package var problem: ErrorReport? = nil
        /// What the newest of the failing ones failed with.
        @Nullable package var failure: ErrorReport? = nil
    }

    /// Writes that have failed at least four times, or were refused, and are still tried.
    package struct Failing: Sendable, Equatable, Codable {
        package var count: Int
        /// Those of them that a person asked for. The others are titles and tags that follow a capture.
        package var ownCount: Int
        /// The first of them, and what it failed with last.
        package var entry: Int64
        @Nullable package var error: ErrorReport? = nil

        init(_ failing: CopySummary.Failing) {
            count = failing.count
            ownCount = failing.ownCount
            entry = failing.entry
            error = failing.code.map { ErrorReport(code: $0, message: failing.message, entry: failing.entry) }
        }
    }

    package struct Outbox: Sendable, Equatable, Codable {
        /// To be sent, those that may have been applied included.
        package var waiting: Int
        package var parked: Int
        /// Of the waiting ones, those that the server may have applied.
        package var unknown: Int
        @Nullable package var oldestWaiting: Timestamp? = nil
        @Nullable package var failing: Failing? = nil
        /// Why nothing is sent though the server can be reached.
        @Nullable package var problem: ErrorReport? = nil
    }

    package struct File: Sendable, Equatable, Codable {
        package var path: String
        /// Bytes.
        package var size: Int64
        package var walSize: Int64
        package var schemaVersion: Int
    }

    package var schemaVersion = StatusReport.schemaVersion
    package var source: Source
    package var generatedAt: Timestamp
    package var attention: [Attention]
    @Nullable package var daemon: Daemon? = nil
    /// `null` where the daemon answered.
    @Nullable package var noDaemon: Absence? = nil
    package var server: Server
    package var copy: Copy
    @Nullable package var outbox: Outbox? = nil
    @Nullable package var pull: PullProgress? = nil
    @Nullable package var lastError: RecurringErrorReport? = nil
    package var file: File

    /// Whether parked writes wait for a decision because the database was restored or copied.
    package var isRestored: Bool {
        lastError.map { $0.code == ErrorCode.databaseRestored.rawValue && !$0.isOver } ?? false
    }

    /// 0, or 4 where `attention` has a reason.
    package var exitCode: ExitCode { attention.isEmpty ? .fine : .needsAttention }
}

/// The pull under way: in the status and on each progress line of `sync` with `wait`.
package struct PullProgress: ControlReply {
    package static let type = "progress"

    /// `backfill`, `head`, `sweep`, `pass`, `check`, `texts`.
    package var kind: String
    package var startedAt: Timestamp
    package var pages = 0
    /// Read from the server so far, known ones included.
    package var items = 0
    @Nullable package var expectedItems: Int? = nil
    /// Where on the timeline the pull stands.
    @Nullable package var position: Timestamp? = nil
    /// Items per second since the pull began.
    package var rate: Double = 0

    package init(kind: PullRecord.Kind, startedAt: Timestamp) {
        self.kind = kind.rawValue
        self.startedAt = startedAt
    }
}
