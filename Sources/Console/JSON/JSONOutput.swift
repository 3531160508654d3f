import FoundationEssentials
import PRSNLCore

/// JSON as our programs write it.
package enum JSONOutput {
    /// One line without its end, for the socket.
    package static func line(_ value: some Encodable) throws -> [UInt8] {
        Array(JSONText.escapingControls(try encode(value, ServiceUnit(), pretty: false)).utf8)
    }

    /// Indented, for `--json`, with the commands of a daemon.
    package static func pretty(_ value: some Encodable, _ unit: ServiceUnit = ServiceUnit()) throws -> String {
        JSONText.escapingControls(try encode(value, unit, pretty: true))
    }

    /// Of a document of ours, with members as `JSONKeys` names them.
    ///
    /// - Parameter isOwn: it is not from a daemon, so that its commands and numbers are not doubted.
    package static func decode<Value: Decodable>(
        _ type: Value.Type, from bytes: [UInt8], isOwn: Bool = false
    ) throws -> Value {
        let decoder = JSONDecoder()
        decoder.userInfo[.isOwn] = isOwn
        decoder.keyDecodingStrategy = .custom { JSONKeys.Key(JSONKeys.camel($0.last?.stringValue ?? "")) }
        return try decoder.decode(type, from: Data(isOwn ? bytes : ForeignNumbers.clamped(bytes)))
    }

    private static func encode(_ value: some Encodable, _ unit: ServiceUnit, pretty: Bool) throws -> String {
        let encoder = JSONEncoder()
        encoder.userInfo[.unit] = unit
        encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
        encoder.keyEncodingStrategy = .custom { JSONKeys.Key(JSONKeys.snake($0.last?.stringValue ?? "")) }
        if pretty { encoder.outputFormatting.insert(.prettyPrinted) }
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }
}
