/// A sentence with commands in it: what to do about an error, a line of the log. As a literal it has its commands between
/// backticks. A value in it is text, or a part of one word of a command, whatever backticks it holds.
package struct Advice: Sendable, Equatable, CustomStringConvertible {
    /// What is around the commands: one more than these.
    package var texts = [""]
    package var commands: [NextCommand] = []

    package var description: String { zip(texts, commands.map { "`\($0)`" } + [""]).map { $0 + $1 }.joined() }

    package func map(_ transform: (NextCommand) -> NextCommand) -> Advice {
        Advice(texts: texts, commands: commands.map(transform))
    }

    package static func + (left: Advice, right: Advice) -> Advice { "\(left)\(right)" }

    fileprivate mutating func append(_ text: String) { texts[commands.count] += text }

    fileprivate mutating func append(_ command: NextCommand) {
        commands.append(command)
        texts.append("")
    }
}

extension Advice: ExpressibleByStringInterpolation {
    package init(stringLiteral text: String) {
        var made = StringInterpolation(literalCapacity: 0, interpolationCount: 0)
        made.appendLiteral(text)
        self.init(stringInterpolation: made)
    }

    package init(stringInterpolation made: StringInterpolation) {
        self = made.advice
        // An unclosed backtick is plain text.
        if let line = made.line { append("`" + line) }
    }

    package struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var advice = Advice()
        /// Of the command whose backtick is not closed yet.
        fileprivate var line: String?

        package init(literalCapacity: Int, interpolationCount: Int) {}

        package mutating func appendLiteral(_ text: String) {
            for (index, piece) in text.split(separator: "`", omittingEmptySubsequences: false).enumerated() {
                if index > 0 {
                    if let line { advice.append(NextCommand(line: line)) }
                    line = line == nil ? "" : nil
                }
                append(String(piece))
            }
        }

        package mutating func appendInterpolation(_ value: some CustomStringConvertible) {
            append(line == nil ? value.description : ShellText.word(value.description))
        }

        package mutating func appendInterpolation(_ command: NextCommand) {
            if line == nil { advice.append(command) } else { append(command.line) }
        }

        package mutating func appendInterpolation(_ other: Advice) {
            for (text, command) in zip(other.texts, other.commands) {
                advice.append(text)
                advice.append(command)
            }
            advice.append(other.texts[other.commands.count])
        }

        package mutating func appendInterpolation(_ error: UserFacingError) { appendInterpolation(error.inFull) }
        package mutating func appendInterpolation(_ error: any Error) { append("\(error)") }

        private mutating func append(_ text: String) {
            if line == nil { advice.append(text) } else { line? += text }
        }
    }
}

/// A command line that a person can type: `sudo prsnlctl login`, or a pipeline. It is written for the machine's own daemon, and
/// rendered for the one that is meant. A value in a literal is a part of one word, whatever is in it.
package struct NextCommand: Sendable, Equatable, CustomStringConvertible, ExpressibleByStringInterpolation {
    /// As a shell reads it.
    package let line: String

    package init(line: String) { self.line = line }
    package init(_ words: [String]) { line = ShellText.words(words) }
    package init(stringLiteral line: String) { self.line = line }
    package init(stringInterpolation made: StringInterpolation) { line = made.line }

    package var description: String { line }

    package struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var line = ""

        package init(literalCapacity: Int, interpolationCount: Int) {}
        package mutating func appendLiteral(_ text: String) { line += text }
        package mutating func appendInterpolation(_ value: some CustomStringConvertible) {
            line += ShellText.word(value.description)
        }
    }
}

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

/// A daemon has suggested a command that is not one of ours. Where a member may be `null`, it is.
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
        "prsnlctl", "prsnld", "systemctl", "journalctl", "usermod", "chmod", "curl", "find", "loginctl",
        "VACUUM",
    ]

    /// Whether it is one command of those that are suggested, and nothing that a shell would make more of.
    fileprivate var isOurs: Bool {
        var isQuoted = false
        var hasEscapes = false
        var last: UInt8 = 0x20
        for byte in line.utf8 {
            defer { last = byte }
            if isQuoted {
                guard byte == UInt8(ascii: "'") else { continue }
                // Not its end.
                if hasEscapes, last == UInt8(ascii: "\\") { return false }
                isQuoted = false
                continue
            }
            if last == UInt8(ascii: "$"), byte != UInt8(ascii: "'") { return false }
            switch byte {
            case UInt8(ascii: "'"):
                // `'\''` is how a quotation mark is quoted.
                if last != UInt8(ascii: "\\") { (isQuoted, hasEscapes) = (true, last == UInt8(ascii: "$")) }
            case UInt8(ascii: "\\"), UInt8(ascii: "$"): continue
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x20, 0x80...: continue
            case _ where "-_./:=@%+,[]".utf8.contains(byte): continue
            default: return false
            }
        }
        var words = line.split(separator: " ")[...]
        if words.first == "sudo" { words = words.dropFirst(words.dropFirst().first == "-u" ? 3 : 1) }
        return !isQuoted && last != UInt8(ascii: "$") && words.first.map { Self.programs.contains(String($0)) } == true
    }
}
