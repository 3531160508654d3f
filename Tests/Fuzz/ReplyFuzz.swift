import PRSNLCore

@testable import Console
@testable import Control

/// What the control socket answers, as prsnlctl reads it.
extension FuzzTarget {
    static let reply = FuzzTarget(name: "reply") { bytes in
        let reply: ControlReply
        do {
            reply = try JSONOutput.decode(ControlReply.self, from: bytes)
        } catch {
            return
        }
        do {
            let line = try JSONOutput.line(reply)
            require(!line.contains(UInt8(ascii: "\n")), "more than one line")
            let again = try JSONOutput.decode(ControlReply.self, from: line)
            require(again == reply, "reads as another: \(reply) \(again)")
        } catch {
            fatalError("cannot be written and read again: \(error)")
        }
    }
}
