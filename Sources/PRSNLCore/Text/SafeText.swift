/// Text from elsewhere (a server, a file name) made fit to be printed.
package enum SafeText {
    /// White space that moves the cursor becomes a space; every other control becomes visible, like `\u{1B}`.
    package static func harmless(_ text: String) -> String {
        replacing(isHarmful, in: text) { scalar in
            [0x09, 0x0A, 0x0D].contains(scalar.value)
                ? " " : "\\u{" + String(scalar.value, radix: 16, uppercase: true) + "}"
        }
    }

    package static func replacing(
        _ isReplaced: (Unicode.Scalar) -> Bool, in text: String, by replacement: (Unicode.Scalar) -> String
    ) -> String {
        guard text.unicodeScalars.contains(where: isReplaced) else { return text }
        return text.unicodeScalars.reduce(into: "") { result, scalar in
            if isReplaced(scalar) { result += replacement(scalar) } else { result.unicodeScalars.append(scalar) }
        }
    }

    package static func withoutControls(_ text: String, by replacement: String) -> String {
        replacing({ $0.properties.generalCategory == .control }, in: text) { _ in replacement }
    }

    /// C0, DEL and C1 (terminals obey them), the bidirectional controls (they make text read as something else,
    /// CVE-2021-42574), the separators that break lines, invisible marks, and the tag characters.
    package static func isHarmful(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F...0x9F, 0x061C, 0x200B, 0x200E...0x200F, 0x2028...0x202E, 0x2060...0x206F, 0xFEFF,
            0xFFF9...0xFFFB, 0xE0000...0xE007F:
            true
        default: false
        }
    }
}

extension BidirectionalCollection {
    /// Without what is blank at either end.
    package func trimming(_ isBlank: (Element) -> Bool) -> SubSequence {
        guard let first = firstIndex(where: { !isBlank($0) }), let last = lastIndex(where: { !isBlank($0) }) else {
            return self[endIndex...]
        }
        return self[first...last]
    }
}

extension JSONFields.Failure {
    /// Fit for a terminal: a name that another person wrote is short and harmless.
    package var reason: String {
        guard let name else { return problem }
        let text = SafeText.harmless(String(name.prefix(40)))
        return "\"\(text)\"\(text.count < name.count ? "..." : "") \(problem)"
    }
}

/// Numbers as people read them.
package enum Count {
    /// `12,345`
    package static func text(_ number: Int) -> String {
        var digits = Array(String(number.magnitude))
        var at = digits.count - 3
        while at > 0 {
            digits.insert(",", at: at)
            at -= 3
        }
        return (number < 0 ? "-" : "") + String(digits)
    }

    /// `1 item`, `2 items`
    package static func text(_ number: Int, _ noun: String) -> String {
        "\(text(number)) \(noun)\(number == 1 ? "" : "s")"
    }

    /// `1 item waits`, `2 items wait`, `3 items are`
    package static func text(_ number: Int, _ noun: String, _ verb: String) -> String {
        "\(text(number, noun)) \(Self.verb(verb, number))"
    }

    /// - Parameter verb: as of one: `waits`, `is`.
    package static func verb(_ verb: String, _ number: Int) -> String {
        number == 1 ? verb : ["is": "are", "was": "were", "has": "have"][verb] ?? String(verb.dropLast())
    }
}
