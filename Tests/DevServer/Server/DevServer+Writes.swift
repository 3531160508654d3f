package import PRSNLCore

extension DevServer {
    /// A creation as it came in, before the server made something else of it.
    package struct Capture: Sendable, Equatable {
        /// From 1, in the order in which they were applied.
        package var number: Int
        /// The item's.
        package var id: String
        package var url: String?
        package var title: String?
        package var content: String?
        /// Dialects C and P.
        package var highlight: String?
        /// Those that were kept.
        package var tags: [String] = []
        /// As it was sent.
        package var type: String?
        package var summarize = false
        package var idempotencyKey: String?
        /// The account's id.
        package var owner: String
        package var receivedAt: Timestamp
    }

    /// Writes over HTTP that changed something, answered or not. No fault hides one.
    package struct AppliedWrites: Sendable, Equatable {
        package var created = 0
        package var updated = 0
        package var deleted = 0

        package var total: Int { created + updated + deleted }

        package init(created: Int = 0, updated: Int = 0, deleted: Int = 0) {
            self.created = created
            self.updated = updated
            self.deleted = deleted
        }
    }

    /// All creations that were applied, in order. Also of items that are deleted by now.
    package var captures: [Capture] { shared.state.withLock { $0.captures } }

    package var appliedWrites: AppliedWrites { shared.state.withLock { $0.appliedWrites } }

    // MARK: Random faults

    /// Lets writes fail at random: creations, edits and deletions, where no scripted fault applies. The same seed and the
    /// same writes give the same faults. Replaces the ones set before.
    ///
    /// - Parameter kinds: one of them each time.
    package func setRandomFault(probability: Double, seed: UInt64, kinds: [Fault] = Fault.lostWrites) {
        shared.state.withLock { state in
            state.randomFault =
                kinds.isEmpty || probability <= 0
                ? nil : RandomFault(probability: probability, seed: seed, kinds: kinds)
        }
    }

    /// How many writes the random faults were applied to, since they were set.
    package var randomFaultCount: Int { shared.state.withLock { $0.randomFault?.applied ?? 0 } }
}

extension Fault {
    /// What leaves a client without knowing whether its write was applied: it was in two cases, and was not in the third.
    package static let lostWrites: [Fault] = [
        .closeAfterApplying, .closeBeforeAnswering,
        .answerAfterApplying(
            status: 500, headers: ["x-error-code": "INTERNAL_SERVER_ERROR"],
            body: #"{"detail":"Internal server error","code":"INTERNAL_SERVER_ERROR"}"#),
    ]
}

/// Faults by chance.
struct RandomFault: Sendable {
    let probability: Double
    let kinds: [Fault]
    var applied = 0
    private var random: ItemRandom

    init(probability: Double, seed: UInt64, kinds: [Fault]) {
        self.probability = probability
        self.kinds = kinds
        random = ItemRandom(state: seed)
    }

    /// The fault for the next write, if any.
    mutating func draw() -> Fault? {
        // Always two draws, so that another probability does not shift the choice of kinds.
        let chance = Double(random.next() >> 11) / Double(1 << 53)
        let kind = random.below(kinds.count)
        guard chance < probability else { return nil }
        applied += 1
        return kinds[kind]
    }
}
