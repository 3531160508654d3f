/// Queries and paths as HTTP carries them.
enum QueryText {
    /// The value of a parameter, decoded. The first one where it is repeated.
    static func value(of name: String, in query: String) -> String? {
        for pair in query.utf8.split(separator: UInt8(ascii: "&")) {
            let equals = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
            guard decoded(pair[..<equals], plusIsSpace: true) == name else { continue }
            return equals == pair.endIndex ? "" : decoded(pair[pair.index(after: equals)...], plusIsSpace: true)
        }
        return nil
    }

    /// Resolves percent-encoding. A `+` is a space in a query (application/x-www-form-urlencoded) but not in a path.
    static func decoded(_ text: some Sequence<UInt8>, plusIsSpace: Bool) -> String {
        var bytes: [UInt8] = []
        var iterator = text.makeIterator()
        while let byte = iterator.next() {
            if byte == UInt8(ascii: "+"), plusIsSpace {
                bytes.append(UInt8(ascii: " "))
            } else if byte == UInt8(ascii: "%"), let high = iterator.next(), let low = iterator.next() {
                let digits = [high, low].compactMap { Character(UnicodeScalar($0)).hexDigitValue }
                if digits.count == 2 {
                    bytes.append(UInt8(digits[0] << 4 | digits[1]))
                } else {
                    bytes.append(contentsOf: [byte, high, low])
                }
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
