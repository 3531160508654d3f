/// Words as a shell reads them.
package enum ShellText {
    /// One word. One in which a terminal would obey something, such as a line break, is written with escapes
    /// (https://www.gnu.org/software/bash/manual/bash.html#ANSI_002dC-Quoting). No quotation mark is in it that a shell without
    /// such escapes would take for its end.
    package static func word(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: SafeText.isHarmful) else { return quoted(text) }
        var word = "$'"
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\n": word += "\\n"
            case "\t": word += "\\t"
            case _ where SafeText.isHarmful(scalar) || scalar == "'" || scalar == "\\":
                for byte in String(scalar).utf8 { word += (byte < 0x10 ? "\\x0" : "\\x") + String(byte, radix: 16) }
            default: word.unicodeScalars.append(scalar)
            }
        }
        return word + "'"
    }

    package static func words(_ texts: [String]) -> String { texts.map(word).joined(separator: " ") }

    /// POSIX shells leave everything between single quotes as it is.
    package static func quoted(_ text: String) -> String {
        let isPlain = text.utf8.allSatisfy { $0.isASCIILetterOrDigit || "-_./:=@%+,".utf8.contains($0) }
        if isPlain, !text.isEmpty { return text }
        return "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    }
}

/// How far a misspelt name is from a known one.
package enum EditDistance {
    /// Insertions, deletions, replacements and swaps of neighbours (optimal string alignment), over bytes: names are ASCII.
    package static func between(_ left: String, _ right: String) -> Int {
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

    /// The known name that was probably meant. `nil` when none is near (a third of the letters may be wrong).
    package static func nearest(to name: String, among known: [String]) -> String? {
        allNearest(to: name, among: known).first
    }

    /// The same, with all that are as near, each once.
    package static func allNearest(to name: String, among known: [String]) -> [String] {
        let distances = known.map { (name: $0, distance: between(name.lowercased(), $0)) }
        guard let least = distances.map(\.distance).min() else { return [] }
        var nearest: [String] = []
        for (known, distance) in distances
        where distance == least && distance <= max(1, min(name.utf8.count, known.utf8.count) / 3)
            && !nearest.contains(known)
        {
            nearest.append(known)
        }
        return nearest
    }
}
