/// Words as a shell reads them.
package enum ShellText {
    /// One word. What a terminal would obey in it is made visible, and has to be typed again.
    package static func word(_ text: String) -> String { SafeText.harmless(quoted(text)) }

    package static func words(_ texts: [String]) -> String { texts.map(word).joined(separator: " ") }

    /// POSIX shells leave everything between single quotes as it is.
    package static func quoted(_ text: String) -> String {
        let plain = text.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                || "-_./:=@%+,".utf8.contains(byte)
        }
        if plain, !text.isEmpty { return text }
        return "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    }
}
