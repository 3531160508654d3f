import FoundationEssentials
package import PRSNLCore

/// JSON as our programs write it.
package enum JSONOutput {
    /// One line without its end, for the socket.
    package static func line(_ value: some Encodable) throws -> [UInt8] { Array(try encode(value).utf8) }

    /// The same, among lines on stdout.
    package static func text(
        _ value: some Encodable, _ unit: ServiceUnit = ServiceUnit(), pretty: Bool = false
    ) throws(UserFacingError) -> String {
        do { return try encode(value, unit, pretty: pretty) } catch {
            throw UserFacingError(.controlProtocol, "The answer could not be written as JSON.", cause: "\(error)")
        }
    }

    /// Indented, for `--json`, with the commands of a daemon.
    package static func pretty(
        _ value: some Encodable, _ unit: ServiceUnit = ServiceUnit()
    ) throws(UserFacingError) -> String { try text(value, unit, pretty: true) }

    /// Of a document of ours, with members as `JSONKeys` names them.
    ///
    /// - Parameter isOwn: it is not from a daemon, so that its commands and numbers are not doubted.
    package static func decode<Value: Decodable>(
        _ type: Value.Type, from bytes: [UInt8], isOwn: Bool = false
    ) throws -> Value {
        let decoder = JSONDecoder()
        decoder.userInfo[.isOwn] = isOwn
        decoder.keyDecodingStrategy = .custom { NamedKey(JSONKeys.camel($0.last?.stringValue ?? "")) }
        return try decoder.decode(type, from: Data(isOwn ? bytes : ForeignNumbers.clamped(bytes)))
    }

    private static func encode(
        _ value: some Encodable, _ unit: ServiceUnit = ServiceUnit(), pretty: Bool = false
    ) throws -> String {
        let encoder = JSONEncoder()
        encoder.userInfo[.unit] = unit
        encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
        encoder.keyEncodingStrategy = .custom { NamedKey(JSONKeys.snake($0.last?.stringValue ?? "")) }
        if pretty { encoder.outputFormatting.insert(.prettyPrinted) }
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
        return JSONText.escapingControls(String(decoding: try encoder.encode(value), as: UTF8.self))
    }
}

/// The numbers of a document that another program wrote.
enum ForeignNumbers {
    /// The same document with each number clamped as `ForeignNumber` says: ours are never so large, and arithmetic on others
    /// would end the program.
    static func clamped(_ json: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(json.count)
        var isText = false
        var at = 0
        while at < json.count {
            let byte = json[at]
            if isText, byte == UInt8(ascii: "\\") {
                result += json[at..<min(at + 2, json.count)]
                at += 2
                continue
            }
            if byte == UInt8(ascii: "\"") { isText.toggle() }
            guard !isText, byte == UInt8(ascii: "-") || (48...57).contains(byte) else {
                result.append(byte)
                at += 1
                continue
            }
            let end = json[at...].firstIndex { !"+-.eE0123456789".utf8.contains($0) } ?? json.count
            result += clamped(number: json[at..<end])
            at = end
        }
        return result
    }

    private static func clamped(number: ArraySlice<UInt8>) -> [UInt8] {
        // What is no number is left to the decoder, which says so.
        guard let value = Double(String(decoding: number, as: UTF8.self)) else { return Array(number) }
        let clamped = ForeignNumber.clamp(value)
        return clamped.magnitude < ForeignNumber.largest ? Array(number) : Array("\(clamped)".utf8)
    }
}

/// The names of JSON members: `schemaVersion` in Swift, `schema_version` in JSON. One rule for all of our documents.
package enum JSONKeys {
    /// `accountID` becomes `account_id`.
    package static func snake(_ name: String) -> String {
        var result: [UInt8] = []
        var wasCapital = true
        for byte in name.utf8 {
            let isCapital = (65...90).contains(byte)
            if isCapital, !wasCapital { result.append(UInt8(ascii: "_")) }
            result.append(isCapital ? byte + 32 : byte)
            wasCapital = isCapital
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// `account_id` becomes `accountID`, `server_url` becomes `serverURL`. Names in capitals, which are systemd's, stay.
    package static func camel(_ name: String) -> String {
        guard name.utf8.contains(UInt8(ascii: "_")), !name.utf8.contains(where: { (65...90).contains($0) }) else {
            return name
        }
        let words = name.split(separator: "_")
        return words.dropFirst().reduce(words.first.map(String.init) ?? "") { $0 + capitalized($1) }
    }

    private static func capitalized(_ word: Substring) -> String {
        if word == "id" || word == "url" { return word.uppercased() }
        return word.prefix(1).uppercased() + word.dropFirst()
    }
}
