/// Commands that can be typed into a shell.
public enum ShellText {
    /// A program with its arguments. What a terminal would obey in them is made visible, and has to be typed anew.
    public static func command(_ program: String, _ arguments: [String]) -> String {
        ([program] + arguments.map { SafeText.harmless(quoted($0)) }).joined(separator: " ")
    }

    /// POSIX shells leave everything between single quotes as it is.
    static func quoted(_ text: String) -> String {
        let plain = text.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                || "-_./:=@%+,".utf8.contains(byte)
        }
        if plain, !text.isEmpty { return text }
        return "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    }
}
