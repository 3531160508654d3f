package import PRSNLCore

/// An item with open work: what of all that was asked for the server is known to have.
package struct Target: Sendable, Equatable {
    package enum Identity: Sendable, Equatable {
        /// Its creation was never sent, or certainly not applied.
        case unsent
        /// A creation may have been applied, and under which id is not known. `absentSince`: when a lookup first did not find it.
        case doubted(absentSince: Timestamp?)
        /// - Parameter wasThereAt: of a capture whose item was there before: the last intent when that became known. A deletion up
        ///   to it is of what was captured, and not of this item.
        case known(wasThereAt: Int64?)
        /// The server has answered that it has no such item.
        case gone
    }

    /// Why a field waits for a person.
    package enum Reason: Sendable, Equatable {
        /// The server has a value that nobody here has seen.
        case conflict(theirs: ItemEdit)
        case gone
        /// The server answers, and does not keep it.
        case notKept
        case refused
        case tooManyTags
    }

    package var identity: Identity
    /// The intent up to which a field is confirmed: from then on the field is the server's.
    package var confirmed: [ItemField: Int64] = [:]
    package var attention: [ItemField: Reason] = [:]
    /// Those since the last time that nothing was open, the oldest first.
    package var attempts: [Attempt] = []

    package init(_ identity: Identity) { self.identity = identity }

    /// The fields that are asked for, and wait for no person.
    func open(_ desired: Desired) -> [ItemField] {
        ItemField.allCases.filter { desired.number(of: $0) != nil && attention[$0] == nil }
    }

    /// Whether the server has, or may have, something of an intent: then it cannot be withdrawn.
    package func covers(_ intent: Intent) -> Bool {
        if intent.ask == .delete, identity == .gone { return true }
        return ItemField.allCases.contains { field in
            intent.ask.concerns(field)
                && (confirmed[field] ?? 0 >= intent.number
                    || attempts.contains { $0.covers >= intent.number && $0.sent.has(field) })
        } || attempts.contains { $0.covers >= intent.number && $0.kind.isWhole }
    }
}

/// One write that was sent: journaled before its first byte.
package struct Attempt: Sendable, Equatable {
    package enum Kind: Sendable, Equatable {
        case create, edit, delete

        /// Whether it concerns the item and not some of its fields.
        var isWhole: Bool { self != .edit }
    }

    package enum Outcome: Sendable, Equatable {
        case applied
        /// It may have been applied, and may still be, for as long as a server works on a request that was given up.
        case doubted
    }

    package var kind: Kind
    /// The fields as they were sent, tags as the whole list.
    package var sent: ItemEdit
    /// The same fields, as they were read just before.
    package var before: ItemEdit
    /// Every intent up to this one.
    package var covers: Int64
    package var sentAt: Timestamp
    /// `nil` while it is under way.
    package var outcome: Outcome?

    package init(_ kind: Kind, sent: ItemEdit, before: ItemEdit, covers: Int64, sentAt: Timestamp) {
        self.kind = kind
        self.sent = sent
        self.before = before
        self.covers = covers
        self.sentAt = sentAt
    }
}

/// The item as the server has just answered.
package struct Reading: Sendable, Equatable {
    package var fields: ItemEdit
    /// Whether the server works on it no more. Processing replaces titles.
    package var isProcessed: Bool
    package var at: Timestamp

    package init(_ fields: ItemEdit, isProcessed: Bool, at: Timestamp) {
        self.fields = fields
        self.isProcessed = isProcessed
        self.at = at
    }
}

/// What the answer to an attempt, or to a lookup, says.
package enum TargetOutcome: Sendable, Equatable {
    case applied
    case notApplied
    case mayBeApplied
    /// The server refuses it for good.
    case refused
    /// It has no such item.
    case gone
    /// A lookup has found the item that a creation has made.
    case found
    /// The server had the URL before. `last`: the last intent by now.
    case wasThere(last: Int64)
    /// A lookup has not found it. It may be inserted later.
    case absent
}

extension Target {
    /// What follows from an answer.
    ///
    /// - Parameter interval: for which a request that was not answered can still be applied.
    package mutating func apply(_ outcome: TargetOutcome, at now: Timestamp, interval: Duration) {
        switch outcome {
        case .applied:
            end(.applied)
            if attempts.last?.kind == .create { identity = .known(wasThereAt: nil) }
            if attempts.last?.kind == .delete { identity = .gone }
        case .mayBeApplied:
            end(.doubted)
            if attempts.last?.kind == .create { identity = .doubted(absentSince: nil) }
        case .notApplied: attempts.removeLast()
        case .refused:
            for field in ItemField.allCases where attempts.last?.sent.has(field) == true { attention[field] = .refused }
            attempts.removeLast()
        case .gone: identity = .gone
        case .found:
            identity = .known(wasThereAt: nil)
            for index in attempts.indices { attempts[index].outcome = .applied }
        // No attempt has made it.
        case .wasThere(let last): (identity, attempts) = (.known(wasThereAt: last), [])
        case .absent:
            guard case .doubted(let since) = identity else { return }
            // Once is not enough, because servers insert late.
            guard let since, now.duration(since: since) >= interval else {
                identity = .doubted(absentSince: since ?? now)
                return
            }
            (identity, attempts) = (.unsent, [])
        }
    }

    /// Nothing is open: attempts are forgotten, but for those that can still be applied.
    package mutating func settle(at now: Timestamp, interval: Duration) {
        attempts.removeAll { $0.outcome != .doubted || now.duration(since: $0.sentAt) >= interval }
    }

    private mutating func end(_ outcome: Attempt.Outcome) {
        if !attempts.isEmpty { attempts[attempts.count - 1].outcome = outcome }
    }
}
