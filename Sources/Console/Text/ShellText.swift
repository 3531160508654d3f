/// Commands that can be typed into a shell.
package enum ShellText {
    /// A program with its arguments. What a terminal would obey in them is made visible, and has to be typed again.
    package static func command(_ program: String, _ arguments: [String]) -> String {
        ([program] + arguments.map { SafeText.harmless(quoted($0)) }).joined(separator: " ")
    }

    /// What our words ever suggest to run.
    private static let programs: Set<String> = [
        "prsnlctl", "prsnld", "systemctl", "journalctl", "adduser", "usermod", "chmod", "curl", "find", "loginctl",
        "VACUUM",
    ]

    /// Whether a text is one command of those that are suggested, and nothing that a shell would make more of: a daemon that was
    /// taken over must not have root paste another.
    package static func isOneCommand(_ text: String) -> Bool {
        var isQuoted = false
        var last: UInt8 = 0x20
        for byte in text.utf8 {
            defer { last = byte }
            if isQuoted {
                if byte == UInt8(ascii: "'") { isQuoted = false }
                continue
            }
            switch byte {
            case UInt8(ascii: "'"):
                // `'\''` is how a quotation mark is quoted.
                if last != UInt8(ascii: "\\") { isQuoted = true }
            case UInt8(ascii: "\\"): continue
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x20, 0x80...: continue
            case _ where "-_./:=@%+,[]".utf8.contains(byte): continue
            default: return false
            }
        }
        var words = text.split(separator: " ").map(String.init)
        if words.first == "sudo" {
            words.removeFirst()
            if words.first == "-u" { words.removeFirst(2) }
        }
        return !isQuoted && words.first.map(programs.contains) == true
    }

    /// Whether what stands between backticks are such commands.
    package static func suggestsOurCommandsOnly(_ sentence: String) -> Bool {
        sentence.split(separator: "`", omittingEmptySubsequences: false).enumerated()
            .allSatisfy { $0.offset % 2 == 0 || isOneCommand(String($0.element)) }
    }

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
