/// Entries that the server, or something in front of it, has refused to take: 401, 403, a redirect. A value.
///
/// One refused write must not hold up the others, and a refused login must not cost a request for each of them. So a refused
/// entry is left alone, and another is tried; where that one goes, the refused one is tried once more and then parked.
struct Refusals: Sendable, Equatable {
    /// Until when (uptime) each is left alone.
    private var until: [Int64: Duration] = [:]
    /// Refused since the server last took a write.
    private var inARow: Set<Int64> = []
    /// Refused before the server took another write.
    private var alone: Set<Int64> = []

    /// - Returns: How many entries were refused since the server last took a write.
    mutating func note(_ entry: Int64, until end: Duration) -> Int {
        until[entry] = end
        inARow.insert(entry)
        return inARow.count
    }

    /// The server has taken a write: those that it refused have their turn again.
    mutating func noteTaken() {
        guard !inARow.isEmpty else { return }
        alone.formUnion(inARow)
        for entry in inARow { until[entry] = nil }
        inARow = []
    }

    /// Whether it was refused while the server takes others.
    func isRefusedAlone(_ entry: Int64) -> Bool { alone.contains(entry) }

    mutating func forget(_ entry: Int64) {
        until[entry] = nil
        inARow.remove(entry)
        alone.remove(entry)
    }

    func leftAlone(at uptime: Duration) -> Set<Int64> { Set(until.lazy.filter { $0.value > uptime }.map(\.key)) }

    /// When they have their turn again (uptime), by entry.
    var ends: [Int64: Duration] { until }
}
