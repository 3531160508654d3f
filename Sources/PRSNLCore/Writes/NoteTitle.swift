/// The title that servers give a note when they have processed it, in place of the one that it was captured with.
///
/// Characters are Unicode scalars and white space is what Python takes for it, because that is what servers count with.
package enum NoteTitle {
    static let firstLine = 10...100
    static let cutAfter = 80

    /// The contract's form: the first line where that has 10 to 100 characters, else the first 80 characters of the
    /// trimmed text. Empty only for a text of nothing but white space.
    package static func derived(from text: String) -> String {
        let trimmed = text.trimmingWhiteSpace()
        return usableFirstLine(of: trimmed) ?? String(trimmed.unicodeScalars.prefix(cutAfter))
    }

    /// Whether a server may have made this title of that text.
    ///
    /// Releases differ in what they do without a usable first line: some cut the text as it came and not the trimmed
    /// one, some trim what they have cut, some add "..." unless it ends with a full stop, and some keep a text of up to
    /// 100 characters whole. A note that is taken for another one only because of these three dots would be sent twice.
    package static func isDerived(_ title: String, from text: String) -> Bool {
        let trimmed = text.trimmingWhiteSpace()
        if let line = usableFirstLine(of: trimmed) { return same(title, line) }
        if same(title, trimmed) { return trimmed.unicodeScalars.count <= firstLine.upperBound }
        for source in [trimmed, text] {
            let cut = String(source.unicodeScalars.prefix(cutAfter))
            let tidy = cut.trimmingWhiteSpace()
            if same(title, cut) || same(title, tidy) || same(title, tidy + "...") { return true }
        }
        return false
    }

    private static func usableFirstLine(of trimmed: String) -> String? {
        // By scalars: "\r\n" is one Character, and none of it is a "\n".
        let line = String(trimmed.unicodeScalars.prefix { $0 != "\n" }).trimmingWhiteSpace()
        return firstLine.contains(line.unicodeScalars.count) ? line : nil
    }

    /// By scalars, as servers compare: `==` also takes other spellings of an accented letter for the same.
    private static func same(_ left: String, _ right: String) -> Bool { left.utf8.elementsEqual(right.utf8) }
}

extension Unicode.Scalar {
    /// What Python's `str.strip` removes: Unicode's white space, and the four ASCII separators.
    package var isStrippedByServers: Bool {
        // Nearly every scalar that is asked about is ASCII. The table of properties is slow.
        if value < 0x80 { return value == 0x20 || (0x09...0x0D).contains(value) || (0x1C...0x1F).contains(value) }
        return properties.isWhitespace
    }
}

extension String {
    /// Without white space at either end, as servers trim a note's text.
    package func trimmingWhiteSpace() -> String {
        let scalars = unicodeScalars
        guard let first = scalars.firstIndex(where: { !$0.isStrippedByServers }),
            let last = scalars.lastIndex(where: { !$0.isStrippedByServers })
        else { return "" }
        return String(scalars[first...last])
    }
}
