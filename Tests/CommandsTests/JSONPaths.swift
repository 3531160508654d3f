import PRSNLCore

/// The members of a JSON text: `copy.gaps[].from`.
enum JSONPaths {
    static func of(_ json: String) throws -> Set<String> {
        var paths: Set<String> = []
        try JSONReader.read(Array(json.utf8)) { reader in
            try collect(&reader, prefix: "", into: &paths)
            try reader.end()
        }
        return paths
    }

    private static func collect(_ reader: inout JSONReader, prefix: String, into paths: inout Set<String>) throws {
        switch try reader.kind() {
        case .object:
            try reader.object { name, reader in
                let path = prefix.isEmpty ? name : "\(prefix).\(name)"
                paths.insert(path)
                try collect(&reader, prefix: path, into: &paths)
            }
        case .array:
            try reader.array { reader in try collect(&reader, prefix: "\(prefix)[]", into: &paths) }
        default: try reader.skip()
        }
    }
}
