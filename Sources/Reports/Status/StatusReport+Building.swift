import Console
package import PRSNLCore
package import Store

extension StatusReport {
    /// Puts together what the file says and, where a daemon runs, what it knows beyond that.
    ///
    /// - Parameter absence: why no daemon has answered.
    package init(
        summary: CopySummary, path: String, daemon facts: DaemonFacts?, absence: Absence? = nil, now: Timestamp
    ) {
        source = facts == nil ? .file : .daemon
        generatedAt = now
        attention = Self.attention(summary, facts)
        server = Server(
            url: summary.serverURL, dialect: summary.dialect?.rawValue, accountID: summary.accountID,
            accountName: summary.accountName)
        copy = Copy(summary, newAsOf: facts?.newAsOf, now: now)
        copy.texts = summary.texts.map { Texts($0, facts, now) }
        copy.search = summary.search.map {
            Search(asOf: Copy.past($0.asOf, now), notIndexed: $0.due, enabled: facts?.indexesWords)
        }
        file = File(
            path: path, size: summary.databaseSize, walSize: summary.walSize, schemaVersion: summary.schemaVersion)
        outbox = Outbox(
            waiting: summary.waiting, parked: summary.parked, unknown: summary.unknown,
            oldestWaiting: summary.oldestWaiting, failing: summary.failing.map(Failing.init),
            problem: summary.waiting > 0 ? facts?.hindrance.map { ErrorReport($0.error) } : nil)
        daemon = facts.map(Daemon.init)
        noDaemon = absence
        pull = facts?.pull
        lastError = summary.lastError.map(RecurringErrorReport.init)
    }

    private static func attention(_ summary: CopySummary, _ facts: DaemonFacts?) -> [Attention] {
        var reasons: [Attention] = []
        if !summary.isComplete { reasons.append(.copyIncomplete) }
        if summary.deletionsHeld > 0 { reasons.append(.deletionsHeld) }
        if summary.parked > 0 { reasons.append(.writesParked) }
        if let failing = summary.failing, failing.ownCount > 0 { reasons.append(.writesFailing) }
        if summary.waiting > 0, facts?.hindrance?.isLasting == true { reasons.append(.writesHeld) }
        if let problem = facts?.problem, problem.code.needsPerson { reasons.append(.problem) }
        return reasons
    }
}

extension StatusReport.Daemon {
    fileprivate init(_ facts: DaemonFacts) {
        pid = facts.pid
        version = facts.version
        since = facts.since
        activity = facts.activity
        nextPullAt = facts.nextPullAt
        problem = facts.problem.map(ErrorReport.init)
        connectivity = facts.connectivity
        network = facts.network
        requests = facts.requests
    }
}

extension StatusReport.Copy {
    fileprivate init(_ summary: CopySummary, newAsOf engineTime: Timestamp?, now: Timestamp) {
        complete = summary.isComplete
        live = summary.live
        deleted = summary.deleted
        rejected = summary.rejected
        suspects = summary.suspects
        deletionsHeld = summary.deletionsHeld
        gaps = summary.gaps.map { gap in
            StatusReport.Gap(
                from: gap.from <= .earliest ? nil : gap.from, to: gap.to >= .latest ? nil : gap.to)
        }
        possiblyMoreAt = summary.possiblyMoreAt
        // The file's time is only written when something else is; the engine's counts from the last look.
        newAsOf = Self.past(engineTime ?? summary.newAsOf, now)
        editsAsOf = Self.past(summary.editsAsOf, now)
    }
}

extension StatusReport.Texts {
    fileprivate init(_ texts: CopySummary.Texts, _ facts: DaemonFacts?, _ now: Timestamp) {
        complete = texts.isComplete
        present = texts.present
        missing = texts.missing
        tooLarge = texts.tooLarge
        failing = texts.failing
        asOf = StatusReport.Copy.past(texts.asOf, now)
        enabled = facts?.copiesTexts
        failure = texts.failure.map { code, message in
            ErrorReport(UserFacingError(ErrorCode(rawValue: code) ?? .storeBug, message))
        }
        problem = facts?.textsProblem.map { ErrorReport($0) } ?? failure
    }
}

extension StatusReport.Copy {
    /// A time that lies in the future says that the clock was set back, and nothing about the copy.
    fileprivate static func past(_ time: Timestamp?, _ now: Timestamp) -> Timestamp? {
        time.flatMap { $0 <= now ? $0 : nil }
    }
}

/// What only the running daemon knows: its part of the status. The daemon fills it from its engine; this module does not
/// know the engine, so that prsnlctl needs neither it nor an HTTP client.
package struct DaemonFacts: Sendable {
    package var pid: Int32
    package var version = ProductVersion.current
    package var since: Timestamp
    /// `starting`, `idle`, `pulling`, `waiting`, `stopped`.
    package var activity = "starting"
    package var nextPullAt: Timestamp?
    package var problem: UserFacingError?
    /// What keeps all writes from being sent, and whether it will hardly be over in a second.
    package var hindrance: (error: UserFacingError, isLasting: Bool)?
    /// T1 as the engine knows it: newer than the file's while there is nothing to write.
    package var newAsOf: Timestamp?
    /// Whether the daemon copies texts, and what keeps it from that.
    package var copiesTexts = true
    /// Whether the daemon keeps the index of words up to date.
    package var indexesWords = true
    package var textsProblem: UserFacingError?
    package var pull: PullProgress?
    package var connectivity: StatusReport.Connectivity?
    package var network: StatusReport.Network?
    /// By endpoint, since the daemon started.
    package var requests: [StatusReport.Requests] = []

    package init(pid: Int32, since: Timestamp) {
        self.pid = pid
        self.since = since
    }
}
