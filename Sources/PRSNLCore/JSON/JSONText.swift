/// Writing JSON: only what a program that mostly passes JSON on needs.
package enum JSONText {
    /// A string as a JSON string, with its quotation marks.
    package static func string(_ text: String) -> String {
        var result: [UInt8] = []
        result.reserveCapacity(text.utf8.count + 2)
        appendString(text, to: &result)
        return String(decoding: result, as: UTF8.self)
    }

    package static func appendString(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        var text = text
        text.withUTF8 { text in
            // What needs no escape is copied as a whole.
            var start = 0
            for (index, byte) in text.enumerated()
            where byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
                bytes.append(contentsOf: text[start..<index])
                start = index + 1
                switch byte {
                case 0x0A: bytes.append(contentsOf: [UInt8(ascii: "\\"), UInt8(ascii: "n")])
                case 0..<0x20:
                    let hex = String(byte, radix: 16)
                    bytes.append(contentsOf: Array("\\u00\(hex.count < 2 ? "0" : "")\(hex)".utf8))
                default: bytes.append(contentsOf: [UInt8(ascii: "\\"), byte])
                }
            }
            bytes.append(contentsOf: text[start...])
        }
        bytes.append(UInt8(ascii: "\""))
    }

    package static func array(_ texts: [String]) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(64)
        appendArray(texts, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    package static func appendArray(_ texts: [String], to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "["))
        for (index, text) in texts.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            appendString(text, to: &bytes)
        }
        bytes.append(UInt8(ascii: "]"))
    }

    /// Stored JSON as it is, on one line: in valid JSON, line breaks are between the values only. `nil` for what is not JSON.
    package static func oneLine(_ json: [UInt8]) -> [UInt8]? {
        do {
            _ = try JSONReader.read(whole: json) { try $0.skip() }
        } catch {
            return nil
        }
        guard String(validating: json, as: UTF8.self) != nil else { return nil }
        return json.contains { $0 == 0x0A || $0 == 0x0D } ? json.map { $0 == 0x0A || $0 == 0x0D ? 0x20 : $0 } : json
    }

    /// JSON lets C1 controls and bidirectional overrides stand in strings, where a terminal would obey them. They can only
    /// stand there, so that writing them as escapes changes nothing for a reader.
    package static func escapingControls(_ json: String) -> String {
        SafeText.replacing({ $0.value >= 0x7F && SafeText.isHarmful($0) }, in: json) { scalar in
            String(scalar).utf16.reduce(into: "") { escapes, unit in
                let hex = String(unit, radix: 16)
                escapes += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
            }
        }
    }
}

/// An optional whose absence is written as `null`.
///
/// The coding that the compiler makes leaves absent members out; our JSON says `null` for "not known", so that a reader
/// can tell that apart from "this version has no such member".
@propertyWrapper
package struct Nullable<Value> {
    package var wrappedValue: Value?

    package init(wrappedValue: Value?) {
        self.wrappedValue = wrappedValue
    }
}

extension Nullable: Sendable where Value: Sendable {}
extension Nullable: Equatable where Value: Equatable {}

extension Nullable: Encodable where Value: Encodable {
    package func encode(to encoder: any Encoder) throws { try wrappedValue.encode(to: encoder) }
}

extension Nullable: Decodable where Value: Decodable {
    package init(from decoder: any Decoder) throws { wrappedValue = try Optional<Value>(from: decoder) }
}

extension KeyedDecodingContainer {
    /// Takes a member that is not there as `null`: it is from a daemon of an earlier version. Likewise a command that is not ours.
    package func decode<Value: Decodable>(_ type: Nullable<Value>.Type, forKey key: Key) throws -> Nullable<Value> {
        do {
            return Nullable(wrappedValue: try decodeIfPresent(Value.self, forKey: key))
        } catch is ForeignCommand {
            return Nullable(wrappedValue: nil)
        }
    }
}
