import FoundationEssentials
package import PRSNLCore

/// An error in JSON. docs/cli.md documents each member.
package struct ErrorReport: Sendable, Equatable, Codable, Error {
    package var code: String
    package var heading: String
    package var message: String
    @Nullable package var consequence: String? = nil
    package var recoverySuggestion: Advice
    @Nullable package var nextCommand: NextCommand? = nil

    package init(_ error: UserFacingError) {
        code = error.code.rawValue
        heading = error.heading
        message = error.message
        consequence = error.consequence
        recoverySuggestion = error.recoverySuggestion
        nextCommand = error.nextCommand
    }

    /// From a daemon. What its code stands for is suggested in place of commands that are not ours.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        code = try container.decode(String.self, forKey: .code)
        heading = try container.decode(String.self, forKey: .heading)
        message = try container.decode(String.self, forKey: .message)
        _consequence = try container.decode(Nullable<String>.self, forKey: .consequence)
        do {
            recoverySuggestion = try container.decode(Advice.self, forKey: .recoverySuggestion)
        } catch is ForeignCommand {
            recoverySuggestion = ErrorCode(rawValue: code)?.recoverySuggestion ?? ""
        }
        _nextCommand = try container.decode(Nullable<NextCommand>.self, forKey: .nextCommand)
    }

    /// What the code stands for; `nil` for a code of a newer daemon.
    package var knownCode: ErrorCode? { ErrorCode(rawValue: code) }

    /// The daemon's error as ours. A code of a newer daemon becomes `control_protocol`, its words stay.
    package var userFacing: UserFacingError {
        UserFacingError(
            knownCode ?? .controlProtocol, message, consequence: consequence, recoverySuggestion: recoverySuggestion,
            nextCommand: nextCommand)
    }
}

/// What a command prints with `--json` when it fails.
package struct FailureReport: Sendable, Equatable, Codable {
    package var schemaVersion = 1
    package var error: ErrorReport

    package init(_ error: UserFacingError) {
        self.error = ErrorReport(error)
    }

    package init(_ error: ErrorReport) {
        self.error = error
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

/// A daemon has suggested a command that is none of ours. Where a member may be `null`, it is.
struct ForeignCommand: Error {}

extension CodingUserInfoKey {
    static let unit = CodingUserInfoKey(rawValue: "unit")!
    static let isOwn = CodingUserInfoKey(rawValue: "isOwn")!
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

extension ErrorReport {
    /// As a part of a report: what happened, what it means, what to do.
    package func lines(_ style: TextStyle) -> [String] {
        [style.safe(message), consequence.map(style.safe), style.text(recoverySuggestion), style.next(nextCommand)]
            .compactMap(\.self)
    }
}

extension FailureReport {
    /// For stderr: what happened, what it means, what to do.
    package func text(program: String, _ style: TextStyle) -> String {
        // The message of a configuration error has a line for each problem.
        let messages = error.message.split(separator: "\n").map { style.safe(String($0)) }
        var lines: [String] = []
        for (index, message) in messages.enumerated() {
            lines += TextLayout.wrap(index == 0 ? "\(program): \(message)" : "  \(message)", width: style.width)
        }
        if let consequence = error.consequence { lines += indented(style.safe(consequence), style) }
        lines += indented(style.text(error.recoverySuggestion), style)
        if let command = error.nextCommand.flatMap(style.unit.fit) { lines += ["  next: " + style.safe(command.line)] }
        if let first = lines.first { lines[0] = style.paint(first, .red) }
        return lines.map { $0 + "\n" }.joined()
    }

    private func indented(_ text: String, _ style: TextStyle) -> [String] {
        TextLayout.wrap(text, width: style.width - 2).map { "  " + $0 }
    }
}
