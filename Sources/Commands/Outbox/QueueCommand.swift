import Console
import Control
package import PRSNLCore
package import Store

enum QueueCommand {
    static let command = Command(
        "queue", "List the writes that are not delivered yet.",
        options: [
            CommandOption("--all", nil, "List those that are over, too."),
            CommandOption("--state", "STATE", "List those in this state only."), .watch,
        ], asks: [QueueRequest.self, WatchRequest.self], onlyReads: true
    ) { context, arguments throws(UserFacingError) in
        let request = QueueRequest(filter: try filter(arguments))
        func report() throws(UserFacingError) -> QueueReport { try context.answer(request) }
        if arguments.has("--watch") { return try Watch.run(context, report) { $0.text(TextStyle()) } }
        try context.write(try report())
        return .fine
    }

    private static func filter(_ arguments: ParsedArguments) throws(UserFacingError) -> OutboxFilter {
        guard let name = arguments.value("--state") else { return arguments.has("--all") ? .all : .open }
        if arguments.has("--all") { throw arguments.failure("--all and --state exclude each other") }
        guard let state = OutboxEntry.State(rawValue: name), let filter = OutboxFilter(rawValue: state.rawValue) else {
            let states = OutboxEntry.State.allCases.map(\.rawValue).joined(separator: ", ")
            throw arguments.failure("\(name) is not a state; there are \(states)")
        }
        return filter
    }
}

/// Entries as people name them: `12` or `#12`.
enum EntryNumbers {
    static func parse(_ arguments: ParsedArguments) throws(UserFacingError) -> [Int64] {
        var numbers: [Int64] = []
        for operand in arguments.operands {
            guard let number = Int64(operand.hasPrefix("#") ? String(operand.dropFirst()) : operand), number > 0 else {
                throw arguments.failure("\(operand) is not the number of a write")
            }
            if !numbers.contains(number) { numbers.append(number) }
        }
        return numbers
    }
}

struct QueueRequest: Request {
    typealias Answer = QueueReport
    static let command = "queue"

    private static let mostListed: Int64 = 1_000
    static let usuallyListed = 50

    let filter: OutboxFilter
    var limit = usuallyListed
    var isChange: Bool { false }
}

extension QueueRequest {
    init(_ members: RequestMembers) throws(RequestRefusal) {
        guard let filter = OutboxFilter(rawValue: try members.text("filter") ?? "open") else {
            throw RequestRefusal(reason: "filter must be open, all or a state")
        }
        self.filter = filter
        limit = Int(min(try members.number("limit") ?? Int64(Self.usuallyListed), Self.mostListed))
    }

    func write(to line: inout RequestLine) {
        line.add("filter", filter.rawValue)
        line.add("limit", Int64(limit))
    }

    func answer(_ context: RequestContext) throws(UserFacingError) -> QueueReport? {
        var list = try context.reader().outbox(filter, limit: limit)
        list.entries = list.entries.map(context.asOfNow)
        var report = QueueReport(list, filter: filter, context)
        report.entries = try context.named(report.entries)
        return report
    }
}

extension RequestContext {
    /// What has no title of its own is known by its item's.
    func named(_ entries: [OutboxEntry.Status]) throws(UserFacingError) -> [OutboxEntry.Status] {
        let places = entries.indices.filter { entries[$0].what.hasSuffix(entries[$0].itemID) }
        guard !places.isEmpty else { return entries }
        var entries = entries
        for (place, title) in zip(places, try reader().titles(of: places.map { entries[$0].itemID })) {
            guard let title else { continue }
            entries[place].what = entries[place].what.dropLast(entries[place].itemID.count) + title
        }
        return entries
    }

    /// An entry with what only the replayer knows: until when it is left alone, and what keeps all that is due from being
    /// sent.
    func asOfNow(_ entry: OutboxEntry) -> OutboxEntry {
        guard let state = engine, let dueAt = entry.nextAttemptAt else { return entry }
        let now = now
        var entry = entry
        if let until = state.refusedUntil[entry.id] { entry.nextAttemptAt = until }
        let nextTry = state.hindrance?.until ?? now
        if let hindrance = state.hindrance, dueAt <= max(now, nextTry) {
            entry.nextAttemptAt = max(dueAt, nextTry)
            entry.errorCode = hindrance.error.code.rawValue
            entry.errorMessage = hindrance.error.message
        }
        return entry
    }
}

/// A part of the outbox: the JSON of `prsnlctl queue --json`.
package struct QueueReport: ControlReply {
    package static let type = "queue"

    package var schemaVersion = 1
    package var source: StatusReport.Source
    package var generatedAt: Timestamp
    /// Whether the server can be used; `null` where the file answered.
    @Nullable package var connectivity: Connectivity? = nil
    /// `null` where it has not, or where the file answered.
    @Nullable package var wait: ServerWait? = nil
    /// What keeps all entries from being sent, though the server can be reached.
    @Nullable package var problem: UserFacingError? = nil
    package var filter: OutboxFilter
    /// How many entries there are; `entries` may hold fewer.
    package var total: Int
    package var entries: [OutboxEntry.Status]

    init(_ list: OutboxList, filter: OutboxFilter, _ context: RequestContext) {
        let state = context.engine
        self.init(
            list, filter: filter, source: context.source, connectivity: state?.connectivity, wait: state?.serverWait,
            problem: state?.hindrance?.error, now: context.now)
    }

    package init(
        _ list: OutboxList, filter: OutboxFilter, source: StatusReport.Source, connectivity: Connectivity? = nil,
        wait: ServerWait? = nil, problem: UserFacingError? = nil, now: Timestamp
    ) {
        (self.source, generatedAt, self.filter) = (source, now, filter)
        (total, entries) = (list.total, list.entries.map(\.shown))
        (self.connectivity, self.wait, self.problem) = (connectivity, wait, problem)
    }
}
