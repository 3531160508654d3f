/// How far a misspelt name is from a known one.
public enum EditDistance {
    /// Insertions, deletions, replacements and swaps of neighbours (optimal string alignment), over bytes: names are ASCII.
    public static func between(_ left: String, _ right: String) -> Int {
        let (left, right) = (Array(left.utf8), Array(right.utf8))
        var beforeLast: [Int] = []
        var last = Array(0...right.count)
        for row in 0..<left.count {
            var current = [row + 1]
            for column in 0..<right.count {
                var best = min(last[column + 1], current[column]) + 1
                best = min(best, last[column] + (left[row] == right[column] ? 0 : 1))
                if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
                    best = min(best, beforeLast[column - 1] + 1)
                }
                current.append(best)
            }
            (beforeLast, last) = (last, current)
        }
        return last[right.count]
    }

    /// The known name that was probably meant; `nil` when none is near (a third of the letters may be wrong).
    public static func nearest(to name: String, among known: [String]) -> String? {
        let near = known.map { (name: $0, distance: between(name.lowercased(), $0)) }.min { $0.distance < $1.distance }
        guard let near, near.distance <= max(1, min(name.utf8.count, near.name.utf8.count) / 3) else { return nil }
        return near.name
    }
}
