/// Slots of an `ItemTable` in ascending order of time. Where the time is equal, in descending order of id, so that
/// reading backwards gives the newest first and the smallest id first.
struct Timeline: Sendable {
    /// Microseconds. Parallel to `slots`, so that a search touches one dense array.
    private(set) var times: [Int64] = []
    private(set) var slots: [Int32] = []

    var count: Int { slots.count }

    /// The number of items before this time.
    func count(before time: Int64) -> Int {
        var low = 0
        var high = times.count
        while low < high {
            let middle = (low + high) / 2
            if times[middle] < time { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// The items that share the time of the one at this index.
    func group(at index: Int) -> Range<Int> {
        let time = times[index]
        return count(before: time)..<(time == .max ? times.count : count(before: time + 1))
    }

    mutating func insert(slot: Int32, time: Int64, id: String, idOf: (Int32) -> String) {
        var index = times.last.map { time > $0 } ?? true ? times.count : count(before: time)
        while index < times.count, times[index] == time, idOf(slots[index]) > id { index += 1 }
        times.insert(time, at: index)
        slots.insert(slot, at: index)
    }

    mutating func remove(slot: Int32, time: Int64) {
        var index = count(before: time)
        while index < slots.count, times[index] == time {
            if slots[index] == slot {
                times.remove(at: index)
                slots.remove(at: index)
                return
            }
            index += 1
        }
    }

    /// Takes many at once: sorted once, not inserted one by one.
    mutating func append(_ added: [(slot: Int32, time: Int64)], idOf: (Int32) -> String) {
        var merged = zip(slots, times).map { (slot: $0, time: $1) }
        merged.append(contentsOf: added)
        merged.sort { $0.time != $1.time ? $0.time < $1.time : idOf($0.slot) > idOf($1.slot) }
        slots = merged.map(\.slot)
        times = merged.map(\.time)
    }
}

extension Timeline {
    /// Dialect C: the newest items before a time, newest first, with no order among equal times that a client could
    /// rely on.
    ///
    /// - Parameter before: microseconds, exclusive. `nil` for the newest.
    func page(before: Int64?, limit: Int, choice: DevServer.TieChoice) -> [Int32] {
        let end = before.map { count(before: $0) } ?? count
        let start = max(0, end - limit)
        guard start > 0, start < end, times[start - 1] == times[start], choice == .varying else {
            return slots[start..<end].reversed()
        }
        // The page has no room for all of this group.
        let group = group(at: start)
        let newer = slots[group.upperBound..<end]
        let room = limit - newer.count
        // By rank among the smallest ids, shaken by what the page looks like, so that the members near the cut differ
        // from one limit to the next while those far beyond it are never shown.
        let candidates = slots[max(group.lowerBound, group.upperBound - room - Self.shake)..<group.upperBound]
            .reversed()
        var salt = UInt64(limit) &* 0x9E37_79B9
        salt &+= UInt64(newer.count) &* 0x85EB_CA6B
        salt &+= UInt64(newer.last ?? 0)
        var ranked: [(rank: Int, weight: Int, slot: Int32)] = []
        for (rank, slot) in candidates.enumerated() {
            let shaken = Int(mix(UInt64(slot) ^ salt << 20) % UInt64(Self.shake))
            ranked.append((rank, rank + shaken, slot))
        }
        ranked.sort { ($0.weight, $0.rank) < ($1.weight, $1.rank) }
        let chosen = ranked.prefix(room).sorted { $0.rank < $1.rank }
        return newer.reversed() + chosen.map { $0.slot }
    }

    /// How far from the cut a member may be and still be chosen.
    private static let shake = 12

    /// Dialects P and E: items by their place from the newest.
    func page(from offset: Int, limit: Int) -> [Int32] {
        guard offset < count else { return [] }
        let end = count - offset
        return slots[max(0, end - limit)..<end].reversed()
    }
}

/// SplitMix64's finaliser: spreads neighbouring numbers.
func mix(_ value: UInt64) -> UInt64 {
    var mixed = value &+ 0x9E37_79B9_7F4A_7C15
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
}
