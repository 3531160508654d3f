import Control
import PRSNLCore
package import Store

/// Waits for deliveries. Answered when nothing of them waits any more, or after `atMost`.
struct DeliveryRequest: Request {
    typealias Answer = DeliveryReport
    typealias Update = WaitingReport
    static let command = "wait"

    /// A century has no end, and can be calculated with.
    private static let longest: Int64 = 100 * 366 * 86_400_000

    let entries: [Int64]
    let atMost: Duration?
    var isChange: Bool { false }
    var place: RequestPlace { .daemon }
    var patience: Duration? { nil }
}

extension DeliveryRequest {
    init(_ members: RequestMembers) throws(RequestRefusal) {
        entries = try members.entries()
        atMost = try members.number("at_most_milliseconds").map { .milliseconds(min($0, Self.longest)) }
    }

    func write(to line: inout RequestLine) {
        line.add("entries", entries)
        if let atMost { line.add("at_most_milliseconds", Int64(atMost.wholeMilliseconds)) }
    }

    func answer(_ context: RequestContext) async throws(UserFacingError) -> DeliveryReport? {
        let parts = try context.requireDaemon().parts
        var last: QueueReport?
        try await parts.engine.waitForDelivery(entries, atMost: atMost) { first in
            let list = OutboxList(entries: [context.asOfNow(first)], total: 1)
            let report = QueueReport(list, filter: .open, context)
            if let last, report.waitsAs(last) { return }
            last = report
            context.send(WaitingReport(report))
        }
        return DeliveryReport(try await parts.store.outboxEntries(entries).map(context.asOfNow))
    }
}

extension QueueReport {
    /// Whether nothing has happened to its entry since, but that time has passed.
    fileprivate func waitsAs(_ earlier: QueueReport) -> Bool {
        guard let entry = entries.first, let other = earlier.entries.first else { return false }
        return entry.entry == other.entry && entry.state == other.state && entry.attempts == other.attempts
            && entry.error == other.error && entry.awaitsItem == other.awaitsItem && entry.behind == other.behind
            && connectivity?.state == earlier.connectivity?.state && wait == earlier.wait
    }
}

/// The first of the entries that still waits, and why.
package struct WaitingReport: ControlReply {
    package static let type = "waiting"

    package var queue: QueueReport

    package init(_ queue: QueueReport) { self.queue = queue }
    package init(from decoder: any Decoder) throws { queue = try QueueReport(from: decoder) }
    package func encode(to encoder: any Encoder) throws { try queue.encode(to: encoder) }
}

/// How far some entries are: the answer to a `wait`.
package struct DeliveryReport: ControlReply {
    package static let type = "delivery"

    /// Entries that are no longer there are left out.
    package var deliveries: [OutboxEntry.Status]

    package init(_ entries: [OutboxEntry]) { deliveries = entries.map(\.shown) }
}
