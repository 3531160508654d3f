/// What servers make of a text while they process an item: they clean HTML, squeeze white space, and put a placeholder where a
/// title is to come.
package enum ServerText {
    /// Whether both are the same text, apart from what servers do to it.
    package static func isSame(_ left: String?, _ right: String?) -> Bool {
        guard let left, let right else { return (left ?? right ?? "").isEmpty }
        return left.utf8.elementsEqual(right.utf8) || cleaned(left).utf8.elementsEqual(cleaned(right).utf8)
    }

    /// Whether both are the same text but for white space.
    package static func isSqueezedSame(_ left: String?, _ right: String?) -> Bool {
        squeezed(left ?? "").utf8.elementsEqual(squeezed(right ?? "").utf8)
    }

    /// Whether a title only stands for one that is to come.
    package static func isPlaceholder(_ title: String?) -> Bool {
        guard let title = title?.trimmingWhiteSpace() else { return true }
        return title.isEmpty || title == "Untitled"
    }

    /// Each run of white space is one space, and none is at either end.
    package static func squeezed(_ text: String) -> String {
        var result = String.UnicodeScalarView()
        var isSpace = false
        for scalar in text.unicodeScalars {
            if scalar.isStrippedByServers {
                isSpace = true
                continue
            }
            if isSpace, !result.isEmpty { result.append(" ") }
            isSpace = false
            result.append(scalar)
        }
        return String(result)
    }

    /// Without tags of HTML, with squeezed white space.
    static func cleaned(_ text: String) -> String {
        guard text.utf8.contains(UInt8(ascii: "<")) else { return squeezed(text) }
        var result = String.UnicodeScalarView()
        var rest = text.unicodeScalars[...]
        while let opening = rest.firstIndex(of: "<") {
            result.append(contentsOf: rest[..<opening])
            let inside = rest[rest.index(after: opening)...]
            // "a < b" is no tag.
            guard let first = inside.first, first == "/" || first == "!" || first.properties.isAlphabetic,
                let closing = inside.firstIndex(of: ">")
            else {
                result.append("<")
                rest = inside
                continue
            }
            rest = inside[inside.index(after: closing)...]
        }
        result.append(contentsOf: rest)
        return squeezed(String(result))
    }
}
