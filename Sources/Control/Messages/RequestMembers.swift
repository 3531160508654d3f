package import PRSNLCore

/// The members of a request's line, for the request to read. One that is `null` counts as left out.
package struct RequestMembers {
    /// The JSON of each value.
    private var values: [String: [UInt8]] = [:]

    init(_ line: [UInt8]) throws(RequestRefusal) {
        // The reader repairs what is not UTF-8. A write must not change on its way.
        guard String(validating: line, as: UTF8.self) != nil else { throw RequestRefusal(reason: "it is not UTF-8") }
        values = try Self.read(line) { reader in
            var values: [String: [UInt8]] = [:]
            guard try reader.enterObject() else { return values }
            repeat {
                let name = try reader.string()
                try reader.colon()
                guard try reader.null() == false else { continue }
                values[name] = Array(line[try reader.skip()])
            } while try reader.nextMember()
            return values
        }
    }

    package func hasValue(_ name: String) -> Bool { values[name] != nil }

    /// False where it is left out.
    package func bool(_ name: String) throws(RequestRefusal) -> Bool {
        try value(name) { reader in try reader.bool() } ?? false
    }

    package func text(_ name: String) throws(RequestRefusal) -> String? {
        try value(name) { reader in try reader.string() }
    }

    /// A whole number, and none below zero.
    package func number(_ name: String) throws(RequestRefusal) -> Int64? {
        try value(name) { reader in try Self.number(name, &reader) }
    }

    package func numbers(_ name: String) throws(RequestRefusal) -> [Int64]? {
        try value(name) { reader in
            var found: [Int64] = []
            try reader.array { reader in found.append(try Self.number(name, &reader)) }
            return found
        }
    }

    /// `nil` where it is left out.
    package func value<Value>(
        _ name: String, _ read: (inout JSONReader) throws -> Value
    ) throws(RequestRefusal) -> Value? {
        guard let value = values[name] else { return nil }
        return try Self.read(value, of: name, read)
    }

    private static func number(_ name: String, _ reader: inout JSONReader) throws -> Int64 {
        guard let number = Int64(try reader.numberText()), number >= 0 else {
            throw RequestRefusal(reason: "\(name) must be a whole number")
        }
        return number
    }

    /// - Parameter name: the member that the JSON is the value of; `nil` for the whole line. Offsets count within it.
    private static func read<Value>(
        _ json: [UInt8], of name: String? = nil, _ body: (inout JSONReader) throws -> Value
    ) throws(RequestRefusal) -> Value {
        do {
            return try JSONReader.read(json) { reader in
                let value = try body(&reader)
                try reader.end()
                return value
            }
        } catch let refusal as RequestRefusal {
            throw refusal
        } catch let failure as JSONReader.Failure {
            throw RequestRefusal(reason: name.map { "\($0): \(failure) of its value" } ?? failure.description)
        } catch {
            throw RequestRefusal(reason: "it cannot be understood")
        }
    }
}
