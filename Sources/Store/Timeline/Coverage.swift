package import PRSNLCore

/// What the copy holds completely: closed intervals of createdAt, each with the time its oldest read began.
///
/// Pulling means closing the gaps between them, newest first. It is a value without I/O. The file keeps it in table `coverage`.
package struct Coverage: Sendable, Equatable {
    package struct Interval: Sendable, Equatable {
        package var from: Timestamp
        package var to: Timestamp
        /// When the read that proved the interval began; the oldest, of several.
        package var readAt: Timestamp

        package init(from: Timestamp, to: Timestamp, readAt: Timestamp) {
            self.from = from
            self.to = to
            self.readAt = readAt
        }
    }

    /// Disjoint, oldest first. Two of them touch only where a sweep has come by one and not yet by the other.
    package private(set) var intervals: [Interval] = []
    /// The start of the sweep under way: intervals read before it and since are kept apart, because the sweep has yet to
    /// read the former.
    package private(set) var sweepStart: Timestamp?

    package init() {}

    init(intervals: [Interval], sweepStart: Timestamp?) {
        self.intervals = intervals.sorted { $0.from < $1.from }
        self.sweepStart = sweepStart
    }

    /// Starts a sweep: from now on, what was read before it is stale for it. It begins after all reads that are known,
    /// also where the clock was set back since.
    package mutating func beginSweep(at start: Timestamp) {
        sweepStart = max(start, intervals.map(\.readAt).max()?.next ?? start)
        merge()
    }

    /// Forgets when intervals were read whose time lies in the future: the clock was set back, and the true time
    /// is not known. They still count as read. Edits and deletions in them are known as of no time until they are read again.
    ///
    /// - Returns: Whether there were any.
    mutating func distrust(readsAfter now: Timestamp) -> Bool {
        guard intervals.contains(where: { $0.readAt > now }) else { return false }
        for index in intervals.indices where intervals[index].readAt > now { intervals[index].readAt = .earliest }
        sweepStart = nil
        merge()
        return true
    }

    /// Forgets that anything was covered beyond the time that it is now: what arrives later would be missed there.
    ///
    /// - Returns: Whether there was anything.
    mutating func clip(to now: Timestamp) -> Bool {
        guard let newest, newest > now else { return false }
        intervals.removeAll { $0.from > now }
        if let last = intervals.indices.last { intervals[last].to = min(intervals[last].to, now) }
        return true
    }

    /// Ends the sweep, finished or given up.
    package mutating func endSweep() {
        sweepStart = nil
        merge()
    }

    /// Adds an interval. Where it overlaps others, the later read counts.
    package mutating func insert(_ new: Interval) {
        guard new.from <= new.to else { return }
        var result: [Interval] = []
        var rest = new  // the part of `new` that is not placed yet
        var placed = false
        for old in intervals {
            if old.to < new.from || old.from > new.to {
                if old.from > new.to, !placed {
                    result.append(rest)
                    placed = true
                }
                result.append(old)
                continue
            }
            if old.readAt >= new.readAt {
                // The old read is the later one: it keeps its place, and `new` goes around it.
                if rest.from < old.from {
                    result.append(Interval(from: rest.from, to: old.from.previous, readAt: new.readAt))
                }
                result.append(old)
                if old.to >= new.to {
                    placed = true
                } else {
                    rest.from = old.to.next
                }
            } else {
                if old.from < new.from {
                    result.append(Interval(from: old.from, to: new.from.previous, readAt: old.readAt))
                }
                if old.to > new.to {
                    if !placed { result.append(rest) }
                    placed = true
                    result.append(Interval(from: new.to.next, to: old.to, readAt: old.readAt))
                }
            }
        }
        if !placed { result.append(rest) }
        intervals = result
        merge()
    }

    /// Joins neighbours that touch and lie on the same side of the sweep's start. The older read counts: what is said of
    /// the whole must be true of each part.
    private mutating func merge() {
        var result: [Interval] = []
        for interval in intervals {
            if let last = result.last, last.to.next >= interval.from, isSwept(last) == isSwept(interval) {
                result[result.count - 1].to = max(last.to, interval.to)
                result[result.count - 1].readAt = min(last.readAt, interval.readAt)
            } else {
                result.append(interval)
            }
        }
        intervals = result
    }

    private func isSwept(_ interval: Interval) -> Bool {
        guard let sweepStart else { return true }
        return interval.readAt >= sweepStart
    }

    /// The newest covered instant.
    package var newest: Timestamp? { intervals.last?.to }

    /// When what lies right below a gap was read. `nil` where the gap reaches down to the bottom.
    package func readAt(below gap: ClosedRange<Timestamp>) -> Timestamp? {
        intervals.last { $0.to < gap.lowerBound }?.readAt
    }

    /// Whether everything from the bottom of the timeline to `newest` is covered.
    package var isComplete: Bool { !intervals.isEmpty && gaps().isEmpty }

    /// When the oldest read that still counts began: edits and deletions are known as of then. `nil` while there are gaps,
    /// or where it is not known.
    package var oldestRead: Timestamp? {
        guard isComplete, let oldest = intervals.map(\.readAt).min(), oldest > .earliest else { return nil }
        return oldest
    }

    /// The intervals below `newest` that are not covered, newest first. With `sweeping`, those that the sweep under way
    /// has not read.
    package func gaps(sweeping: Bool = false) -> [ClosedRange<Timestamp>] {
        var result: [ClosedRange<Timestamp>] = []
        var next = Timestamp.earliest
        for interval in intervals where !sweeping || isSwept(interval) {
            if next < interval.from { result.append(next...interval.from.previous) }
            next = interval.to.next
        }
        // A sweep has yet to read what lies above its newest interval.
        if sweeping, let newest, next <= newest { result.append(next...newest) }
        return result.reversed()
    }
}

extension Coverage {
    /// Whether all of the interval is covered already, however old the read.
    package func covers(_ interval: Interval) -> Bool {
        var next = interval.from
        for known in intervals where known.to >= next {
            if known.from > next { return false }
            if known.to >= interval.to { return true }
            next = known.to.next
        }
        return false
    }
}
