/// A dump of the network, or news of the clock.
package struct NetworkEvent: Sendable, Equatable {
    package enum Clock: Sendable, Equatable {
        /// The wall clock was set; forward is positive.
        case stepped(Duration)
        /// The machine was suspended for so long.
        case woke(Duration)
    }

    package var snapshot: NetworkSnapshot
    /// In words; empty where only something else than links, addresses and default routes has changed.
    package var reasons: [String]
    /// The kernel has dropped events: what lies between two dumps is not known.
    package var hasLostEvents: Bool
    package var clock: Clock?

    package init(snapshot: NetworkSnapshot, reasons: [String] = [], hasLostEvents: Bool = false, clock: Clock? = nil) {
        self.snapshot = snapshot
        self.reasons = reasons
        self.hasLostEvents = hasLostEvents
        self.clock = clock
    }
}

extension NetworkEvent.Clock {
    /// `the clock was set forward by 1 h`
    var words: String {
        switch self {
        case .stepped(let by):
            "the clock was set \(by < .zero ? "back" : "forward") by \((by < .zero ? .zero - by : by).components.seconds) s"
        case .woke(let slept): "the machine was asleep for \(slept.components.seconds) s"
        }
    }
}
