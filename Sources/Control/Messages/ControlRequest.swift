import PRSNLCore

/// One line to the control socket: a JSON object with a `command` (docs/cli.md, "The control socket").
///
/// A request is one type. It knows its name, what answers it, whether it changes something, and how it is written and
/// read. It stands in the file of the report that answers it.
package protocol ControlRequest: Sendable, Equatable {
    /// The last line for it, unless the daemon refuses.
    associatedtype Answer: ControlReply
    /// The lines that may come before the answer.
    associatedtype Update: ControlReply = NoUpdate

    static var command: String { get }
    /// The member that, where it is true, tells this request from another one of the same command.
    static var variant: String? { get }
    /// Whether the daemon asks the server for it, though nothing is changed.
    static var asksServer: Bool { get }
    /// Whether it changes anything, here or on the server. All who may connect may look; fewer may change things.
    ///
    /// Without a default, so that no request is added without a decision.
    var isChange: Bool { get }

    /// Members that it does not know are ignored.
    init(_ members: RequestMembers) throws(RequestRefusal)
    func write(to line: inout RequestLine)
}

extension ControlRequest {
    package static var variant: String? { nil }
    package static var asksServer: Bool { false }

    package func write(to line: inout RequestLine) {}

    /// The line, without its end.
    package var line: [UInt8] {
        var line = RequestLine(Self.command)
        if let variant = Self.variant { line.add(variant, true) }
        write(to: &line)
        return line.bytes + [UInt8(ascii: "}")]
    }
}

/// A request without members of its own.
package protocol BareRequest: ControlRequest {
    init()
}

extension BareRequest {
    package init(_ members: RequestMembers) { self.init() }
}

/// Why a line is no request.
package struct RequestRefusal: Error, Equatable {
    package let reason: String

    package init(reason: String) { self.reason = reason }
}
