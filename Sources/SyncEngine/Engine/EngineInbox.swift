import Configuration
import PRSNLClient
import PRSNLCore
import Store
import Synchronization

/// What the engine hears, in the order in which it came. Each of its two loops takes its events from a queue of its own.
final class EngineInbox: Sendable {
    enum Event: Sendable {
        /// Whether the server can be used has changed. `isReturn`: it is back after it was away, so what failed for that is
        /// tried at once. `silence`: how long it had not answered, where it was not this machine that was away.
        case connectivity(isReturn: Bool, silence: Duration)
        /// The clock was set, or the machine was asleep.
        case clockStepped
        /// The configuration was read again. The owner may have removed the cause of a failure.
        case settings
        case credentials
        case sync(RequestedPull)
        /// There is something to send. `manual`: a person wants all that waits to be tried.
        case writes(manual: Bool)
        /// What kept writes back may be gone: the server lets in whom it refused, or settings or credentials are others.
        case released
        /// The server has answered a pull again after it had failed at one.
        case recovered
        /// Something was delivered that a poll of the newest items would show.
        case delivered
        /// All that could be sent after a return was sent.
        case outboxSent
    }

    typealias RequestedPull = (request: SyncRequest, answer: CheckedContinuation<SyncResult, Never>)

    final class Queue: Sendable {
        private let events = Mutex<[Event]>([])
        private let wakeup = Wakeup()

        /// Whether a pull of the newest items is wanted: a person waits for it, another login has to be proven by it, or
        /// something was delivered that it would show.
        func wantsPull(afterDelivery: Bool) -> Bool {
            events.withLock { events in
                events.contains { event in
                    switch event {
                    case .sync, .credentials: true
                    case .delivered: afterDelivery
                    default: false
                    }
                }
            }
        }

        func take() -> [Event] { events.withLock { exchange(&$0, with: []) } }

        /// Waits for the next event, or until the time is over or the task is cancelled. One task at a time.
        func wait(atMost limit: Duration, time: TimeSource) async { await wakeup.wait(atMost: limit, time: time) }

        fileprivate func post(_ event: Event) {
            events.withLock { $0.append(event) }
            wakeup.signal()
        }
    }

    let pulls = Queue()
    let outbox = Queue()

    /// Wakes the loops that the event is for.
    func post(_ event: Event) {
        switch event {
        case .connectivity, .clockStepped:
            // The pulls first: what the outbox makes of it comes after it in their queue.
            pulls.post(event)
            outbox.post(event)
        case .writes, .released, .recovered: outbox.post(event)
        case .settings, .credentials, .sync, .delivered, .outboxSent: pulls.post(event)
        }
    }
}

/// What a person asks for.
package struct SyncRequest: Sendable, Equatable {
    /// A whole sweep, not just the head.
    package var full = false
    /// Believe the deletions that were held back.
    package var acceptDeletions = false
    /// All texts that are due, without pauses.
    package var texts = false
    /// The text of this item alone, of any size.
    package var textOf: String?

    package init(full: Bool = false, acceptDeletions: Bool = false, texts: Bool = false, textOf: String? = nil) {
        self.full = full
        self.acceptDeletions = acceptDeletions
        self.texts = texts
        self.textOf = textOf
    }
}

/// What all parts of the engine may read at any time: the settings, and what `status` shows.
@dynamicMemberLookup
final class EngineSharedState: Sendable {
    struct Values: Sendable {
        var settings: SyncSettings
        var state = EngineState()
        /// Whether the outbox has something to send that may be sent now. Work in the background lets it go first.
        var isSending = false
        /// Of the texts, which are fetched in pieces.
        var textMeter: PullMeter?
        /// The credentials that the server last took for another account's than the copy's, and would take so again.
        var refusedLogin: (shown: Credentials, failure: SyncFailure)?
    }

    private let values: Mutex<Values>

    init(_ settings: SyncSettings) { values = Mutex(Values(settings: settings)) }

    subscript<Value: Sendable>(dynamicMember path: WritableKeyPath<Values, Value> & Sendable) -> Value {
        get { values.withLock { $0[keyPath: path] } }
        set { values.withLock { $0[keyPath: path] = newValue } }
    }

    func publish(_ change: (inout EngineState) -> Void) { values.withLock { change(&$0.state) } }
}
