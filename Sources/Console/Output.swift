package import PRSNLCore

/// What a command prints: a JSON contract, and a text made from the same values.
package protocol Report: Encodable {
    /// Whole lines, each with its end.
    func text(_ style: TextStyle) -> String
    /// What the command ends with that has printed it.
    var exitCode: ExitCode { get }
}

extension Report {
    package var exitCode: ExitCode { .fine }

    /// Paragraphs behind their labels. A label without any is left out.
    package func fields(_ rows: [TextLayout.Field], _ style: TextStyle) -> String {
        TextLayout.fields(rows, style).map { $0 + "\n" }.joined()
    }

    /// Lines as they are, however wide.
    package func lines(@Listing<String> _ lines: () -> [String]) -> String {
        lines().map { $0 + "\n" }.joined()
    }

    package func paragraphs(_ style: TextStyle, @Listing<String> _ texts: () -> [String]) -> String {
        paragraphs(texts(), style)
    }

    /// Sentences, each from the beginning of a line.
    package func paragraphs(_ texts: [String], _ style: TextStyle) -> String {
        texts.flatMap { TextLayout.wrap($0, width: style.width) }.map { $0 + "\n" }.joined()
    }
}

/// Lists whose members depend on conditions.
@resultBuilder package enum Listing<Element> {
    package static func buildExpression(_ element: Element) -> [Element] { [element] }
    package static func buildExpression(_ elements: [Element]) -> [Element] { elements }
    package static func buildBlock(_ parts: [Element]...) -> [Element] { parts.flatMap(\.self) }
    package static func buildOptional(_ part: [Element]?) -> [Element] { part ?? [] }
    package static func buildEither(first: [Element]) -> [Element] { first }
    package static func buildEither(second: [Element]) -> [Element] { second }
    package static func buildArray(_ parts: [[Element]]) -> [Element] { parts.flatMap(\.self) }
}

/// What prsnld and prsnlctl end with (docs/cli.md).
package enum ExitCode: Int32, Sendable, CaseIterable {
    case fine = 0
    case error = 1
    case usage = 2
    case daemonNotRunning = 3
    case needsAttention = 4
    /// A write is on disk, and was not delivered as long as it was waited for.
    case notDelivered = 5
    /// The database cannot be used as it is, and another start changes nothing about that: EX_DATAERR of sysexits.h. The
    /// units do not restart it after this.
    case database = 65
    /// The daemon cannot start until a person has corrected its configuration or its credentials: EX_CONFIG of sysexits.h.
    /// The units do not restart it after this.
    case configuration = 78

    /// What the daemon ends with when it could not start or go on.
    package init(ending error: UserFacingError) {
        self =
            switch error.code.traits.flags {
            case _ where error.code == .usage: .usage
            case let flags where flags.contains(.isBadConfiguration): .configuration
            case let flags where flags.contains(.isBadFile): .database
            default: .error
            }
    }
}

/// What a command prints with `--json` when it fails.
package struct FailureReport: Sendable, Equatable, Codable {
    package var schemaVersion = 1
    package var error: UserFacingError

    package init(_ error: UserFacingError) {
        self.error = error
    }
}

extension UserFacingError {
    /// As a part of a report: what happened, what it means, what to do.
    package func lines(_ style: TextStyle) -> [String] {
        [style.safe(message), consequence.map(style.safe), style.text(recoverySuggestion), style.next(otherCommand)]
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
        // What the next line says is not said twice.
        let isSaid = error.nextCommand.map { error.recoverySuggestion == "See \($0)." } ?? false
        if !isSaid { lines += indented(style.text(error.recoverySuggestion), style) }
        if let command = (isSaid ? error.nextCommand : error.otherCommand).flatMap(style.unit.fit) {
            lines += ["  next: " + style.safe(command.line)]
        }
        if let first = lines.first { lines[0] = style.paint(first, .red) }
        return lines.map { $0 + "\n" }.joined()
    }

    private func indented(_ text: String, _ style: TextStyle) -> [String] {
        TextLayout.wrap(text, width: style.width - 2).map { "  " + $0 }
    }
}

/// stdout and stderr without buffers of the C library in between.
package enum StandardStream: Int32, Sendable {
    case output = 1
    case error = 2

    /// Writes all of it. False when the other end is gone or the disk is full: the caller has nowhere left to report it.
    @discardableResult
    package func write(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { Descriptors.write(UnsafeRawBufferPointer($0), to: rawValue) } == 0
    }
}
