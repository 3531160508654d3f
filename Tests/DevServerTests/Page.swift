import DevServer
import PRSNLCore

/// What a test wants to know of a timeline's answer.
struct Page {
    var ids: [String] = []
    var titles: [String] = []
    var times: [String] = []
    var tags: [[String]] = []
    var statuses: [String] = []
    var types: [String] = []
    /// `nil` for null, and where there is none.
    var cursor: String?
    var total: Int?
    var names: Set<String> = []

    init(_ bytes: [UInt8]) throws {
        try JSONReader.read(bytes) { reader in
            try reader.object { name, reader in
                names.insert(name)
                switch name {
                case "items": try reader.array { reader in try readItem(&reader) }
                case "next_cursor": if try !reader.null() { cursor = try reader.string() }
                case "total", "totalResults": total = Int(try reader.numberText())
                default: try reader.skip()
                }
            }
            try reader.end()
        }
    }

    private mutating func readItem(_ reader: inout JSONReader) throws {
        try reader.object { name, reader in
            switch name {
            case "id": ids.append(try reader.string())
            case "title": titles.append(try reader.string())
            case "createdAt": times.append(try reader.string())
            case "status": statuses.append(try reader.string())
            case "type", "item_type", "itemType": types.append(try reader.string())
            case "tags":
                var tags: [String] = []
                try reader.array { reader in tags.append(try reader.string()) }
                self.tags.append(tags)
            default: try reader.skip()
            }
        }
    }
}

extension RawClient {
    func page(_ query: String, headers: [String: String] = [:]) throws -> Page {
        let answer = try get("/api/timeline\(query)", headers: headers)
        guard answer.status == 200 else { throw Unexpected(status: answer.status, body: answer.text) }
        return try Page(answer.body)
    }

    struct Unexpected: Error {
        let status: Int
        let body: String
    }
}

/// A cursor with its plus sign encoded.
func encoded(_ cursor: String) -> String {
    cursor.map { $0 == "+" ? "%2B" : String($0) }.joined()
}

/// The names of an object, or a text at a path of names.
func member(_ path: String..., of bytes: [UInt8]) throws -> String? {
    try JSONReader.read(bytes) { reader in try find(path[...], in: &reader) }
}

private func find(_ path: ArraySlice<String>, in reader: inout JSONReader) throws -> String? {
    guard let name = path.first else {
        if try reader.kind() == .string { return try reader.string() }
        return reader.text(try reader.skip())
    }
    var found: String?
    if try reader.kind() == .array {
        var index = 0
        try reader.array { reader in
            if String(index) == name { found = try find(path.dropFirst(), in: &reader) } else { try reader.skip() }
            index += 1
        }
        return found
    }
    try reader.object { member, reader in
        if member == name { found = try find(path.dropFirst(), in: &reader) } else { try reader.skip() }
    }
    return found
}
