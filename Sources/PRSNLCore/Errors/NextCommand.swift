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
