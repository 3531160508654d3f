/// In JSON these are strings, a command in a sentence between backticks. They name the commands of the encoder's unit, and are
/// read only where every command is one that we ever suggest: a daemon that was taken over must not have root paste another.
extension NextCommand: Codable {
    /// `null` where the daemon has none that would do the same.
    package func encode(to encoder: any Encoder) throws {
        let line = encoder.unit.fit(self)?.line
        try line.encode(to: encoder)
    }

    package init(from decoder: any Decoder) throws {
        self.init(line: try String(from: decoder))
        guard decoder.isOwn || isOurs else { throw ForeignCommand() }
    }
}

extension Advice: Codable {
    package func encode(to encoder: any Encoder) throws { try encoder.unit.fit(self).description.encode(to: encoder) }

    package init(from decoder: any Decoder) throws {
        let text = try String(from: decoder)
        let pieces = text.split(separator: "`", omittingEmptySubsequences: false).enumerated()
        guard decoder.isOwn || pieces.allSatisfy({ $0.offset % 2 == 0 || NextCommand(line: String($0.element)).isOurs })
        else { throw ForeignCommand() }
        self.init(stringLiteral: text)
    }
}

/// A daemon has suggested a command that is none of ours. Where a member may be `null`, it is.
struct ForeignCommand: Error {}

extension CodingUserInfoKey {
    /// The `ServiceUnit` whose commands are written.
    package static let unit = CodingUserInfoKey(rawValue: "unit")!
    /// Whether a document is not from a daemon, so that its commands are not doubted.
    package static let isOwn = CodingUserInfoKey(rawValue: "isOwn")!
}

extension Encoder {
    fileprivate var unit: ServiceUnit { userInfo[.unit] as? ServiceUnit ?? ServiceUnit() }
}

extension Decoder {
    fileprivate var isOwn: Bool { userInfo[.isOwn] as? Bool ?? false }
}

extension NextCommand {
    private static let programs: Set<String> = [
        "prsnlctl", "prsnld", "systemctl", "journalctl", "adduser", "usermod", "chmod", "curl", "find", "loginctl",
        "VACUUM",
    ]

    /// Whether it is one command of those that are suggested, and nothing that a shell would make more of.
    fileprivate var isOurs: Bool {
        var isQuoted = false
        var last: UInt8 = 0x20
        for byte in line.utf8 {
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
        var words = line.split(separator: " ").map(String.init)
        if words.first == "sudo" {
            words.removeFirst()
            if words.first == "-u" { words.removeFirst(2) }
        }
        return !isQuoted && words.first.map(Self.programs.contains) == true
    }
}
