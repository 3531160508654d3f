import PRSNLCore

/// A request while it is written. Its command comes first: by that the server tells a `write`, which may be longer than
/// other requests.
package struct RequestLine {
    /// Without the brace that ends the object.
    private(set) var bytes: [UInt8]

    init(_ command: String) { bytes = Self.start(of: command) }

    /// `{"command":"write"`
    static func start(of command: String) -> [UInt8] { Array("{\"command\":\"\(command)\"".utf8) }

    package mutating func add(_ name: String, _ value: Bool) { add(name) { $0 += "\(value)".utf8 } }

    package mutating func add(_ name: String, _ value: Int64) { add(name) { $0 += "\(value)".utf8 } }

    package mutating func add(_ name: String, _ value: String) { add(name) { JSONText.appendString(value, to: &$0) } }

    package mutating func add(_ name: String, _ values: [Int64]) {
        add(name) { $0 += "[\(values.map(String.init).joined(separator: ","))]".utf8 }
    }

    /// - Parameter append: appends the value's JSON.
    package mutating func add(_ name: String, _ append: (inout [UInt8]) -> Void) {
        bytes += ",\"\(name)\":".utf8
        append(&bytes)
    }
}
