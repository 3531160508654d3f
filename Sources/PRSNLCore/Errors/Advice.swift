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
        // What is not closed is no command.
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
