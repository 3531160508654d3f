/// Pages by number that overlap by at least one item, so that each can be seen to follow the one before it.
///
/// Offsets are (page - 1) × limit, so a page begins only at a multiple of its limit: the limit is varied until a page
/// begins at or a little before the last item that is already known, and reaches as far as possible.
enum OverlappingPages {
    struct Page: Sendable, Equatable {
        /// From 1.
        var number: Int
        var limit: Int
        /// The offset of its first item.
        var start: Int { (number - 1) * limit }
        /// The offset after its last item, if it is full.
        var end: Int { number * limit }
    }

    /// - Parameters:
    ///   - end: The offset after the last item read; at least 1.
    ///   - largest: The largest limit that the server takes; at least 20: some limit then does not divide `end`.
    static func following(_ end: Int, largest: Int) -> Page {
        var best = Page(number: end, limit: 1)
        for limit in stride(from: largest, to: max(1, largest / 2), by: -1) {
            let page = Page(number: (end - 1) / limit + 1, limit: limit)
            if page.end > best.end { best = page }
        }
        return best
    }
}
