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

    struct Key: CodingKey {
        let stringValue: String
        let intValue: Int?

        init(_ name: String) {
            stringValue = name
            intValue = nil
        }

        init(stringValue: String) { self.init(stringValue) }

        init(intValue: Int) {
            stringValue = "\(intValue)"
            self.intValue = intValue
        }
    }
}
