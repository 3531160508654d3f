import PRSNLCore

/// Checks that several targets share.
enum JSONChecks {
    /// Whether the bytes are one well-formed JSON text, by the reader's own walk over them.
    static func isWellFormed(_ bytes: [UInt8]) -> Bool {
        do {
            try JSONReader.read(bytes) { reader in
                try reader.skip()
                try reader.end()
            }
            return true
        } catch {
            return false
        }
    }

    /// The names of an object's members and their raw values; `nil` where it is no object.
    static func members(_ bytes: [UInt8]) -> [(name: String, raw: String)]? {
        var members: [(name: String, raw: String)] = []
        do {
            try JSONReader.read(bytes) { reader in
                try reader.object { (name, reader) throws(JSONReader.Failure) in
                    members.append((name, reader.text(try reader.skip())))
                }
                try reader.end()
            }
            return members
        } catch {
            return nil
        }
    }

    /// The strings of an array; `nil` where it is not an array of strings.
    static func texts(_ bytes: [UInt8]) -> [String]? {
        var texts: [String] = []
        do {
            try JSONReader.read(bytes) { reader in
                try reader.array { (reader) throws(JSONReader.Failure) in texts.append(try reader.string()) }
                try reader.end()
            }
            return texts
        } catch {
            return nil
        }
    }

    /// Each stands before the next by its bytes, and none is there twice.
    static func areSorted(_ texts: [String]) -> Bool {
        zip(texts, texts.dropFirst()).allSatisfy { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }
}
