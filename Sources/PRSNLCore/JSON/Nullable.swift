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
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if let wrappedValue { try container.encode(wrappedValue) } else { try container.encodeNil() }
    }
}

extension Nullable: Decodable where Value: Decodable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        wrappedValue = container.decodeNil() ? nil : try container.decode(Value.self)
    }
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
