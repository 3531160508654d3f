package import PRSNLCore

/// The entries of a JSON file: those of the array that it is, or that it has under a name of `ImportForm.arrays`, or of lines
/// with an object each.
package enum JSONRecords {
    package static func read(_ bytes: [UInt8], _ body: @escaping (RecordEvent) -> Void) {
        JSONReader.read(bytes) { reader in
            var walk = Walk(body: body)
            do {
                while reader.bytesLeft > 0 {
                    try walk.value(&reader, path: "", isElement: false)
                    if (try? reader.end()) != nil { return }
                }
            } catch {
                body(.unreadable(position: walk.count + 1, reason: "no JSON from here on: \(error)"))
            }
        }
    }

    private struct Walk {
        let body: (RecordEvent) -> Void
        var count = 0

        /// Names inside one another that an entry may have. What is deeper is read past.
        private static let deepest = 8

        /// - Parameters:
        ///   - path: of arrays, from the top of the file.
        ///   - isElement: of an array that has entries.
        mutating func value(_ reader: inout JSONReader, path: String, isElement: Bool) throws {
            switch try reader.kind() {
            case .object:
                var record = Record(at: count + 1)
                // What kind of file it is shows in where its entries are.
                if isElement { record.add("@\(path)", "") }
                try member(&reader, path: path, of: &record, prefix: "", depth: 0)
                // What holds entries is none.
                if isElement || !record["url"].isEmpty { take(.record(record)) }
            case .array where !isElement && ImportForm.arrays.contains(path):
                try reader.array { reader in try value(&reader, path: path, isElement: true) }
            case .string where isElement:
                var record = Record(at: count + 1)
                record.add("url", try reader.string())
                take(.record(record))
            default:
                _ = try reader.skip()
                if isElement { take(.unreadable(position: count + 1, reason: "it is no object")) }
            }
        }

        private mutating func take(_ event: RecordEvent) {
            count += 1
            body(event)
        }

        /// - Parameter prefix: of the name, in the entry.
        private mutating func member(
            _ reader: inout JSONReader, path: String, of record: inout Record, prefix: String, depth: Int
        ) throws {
            switch try reader.kind() {
            case .object where depth < Self.deepest:
                try reader.object { name, reader in
                    let inner = path.isEmpty ? name : "\(path).\(name)"
                    if try reader.kind() == .array, ImportForm.arrays.contains(inner) {
                        return try value(&reader, path: inner, isElement: false)
                    }
                    let full = prefix.isEmpty ? name : "\(prefix).\(name)"
                    try member(&reader, path: inner, of: &record, prefix: full, depth: depth + 1)
                }
            case .array where depth < Self.deepest:
                record.add(prefix, "")
                try reader.array { reader in
                    try member(&reader, path: path, of: &record, prefix: prefix, depth: depth + 1)
                }
            case .object, .array: _ = try reader.skip()
            case .string: record.add(prefix, try reader.string())
            case .number: record.add(prefix, try reader.numberText())
            case .bool: record.add(prefix, try reader.bool() ? "true" : "false")
            case .null:
                _ = try reader.null()
                record.add(prefix, "")
            }
        }
    }
}

/// The links of a bookmark file, as browsers write it, and of Pocket's older export. Each has its folders, the outermost first,
/// and the heading above it.
package enum BookmarkRecords {
    /// - Throws: `library_missing`.
    package static func read(_ bytes: [UInt8], _ body: @escaping (RecordEvent) -> Void) throws(UserFacingError) {
        var bytes = bytes
        // A file that was cut off in the middle of a tag would give half an address.
        let cut = bytes.lastIndex(of: UInt8(ascii: "<")) ?? 0
        let isCut = (bytes.lastIndex(of: UInt8(ascii: ">")) ?? 0) < cut
        if isCut { bytes.removeSubrange(cut...) }
        var reading = Reading(body: body)
        // No browser closes a DT, and so libxml2 takes each for a part of the one before.
        let isWhole = try HTMLReader.read(bytes, deepest: .max) { event in reading.take(event) }
        reading.endLink()
        if isCut { body(.unreadable(position: reading.count + 1, reason: "the file ends in the middle of it")) }
        if !isWhole { body(.unreadable(position: reading.count + 1, reason: "there is no memory from here on")) }
    }

    private struct Reading {
        let body: (RecordEvent) -> Void
        var count = 0
        private var link: Record?
        private var folders: [String?] = []
        private var nextFolder: String?
        private var heading: String?
        private var text = ""
        private var isInRemark = false

        private static let structure: Set<String> = ["a", "dd", "dt", "dl", "ul", "li", "h1", "h2", "h3", "hr"]

        init(body: @escaping (RecordEvent) -> Void) { self.body = body }

        mutating func take(_ event: HTMLReader.Event) {
            switch event {
            case .text(let more): text += more
            case .start(let name, let attributes): start(name, attributes)
            case .end(let name): end(name)
            }
        }

        private mutating func start(_ name: String, _ attributes: [String: String]) {
            if name == "br" || name == "p" { return text += "\n" }
            // Anything else is a part of a title or a remark.
            guard Self.structure.contains(name) else { return }
            endRemark()
            text = ""
            switch name {
            case "a":
                endLink()
                count += 1
                var record = Record(at: count)
                for (name, value) in attributes { record.add(name, value) }
                for case let folder? in folders { record.add("folder", folder) }
                if let heading { record.add("heading", heading) }
                link = record
            case "dd": isInRemark = true
            case "dl", "ul":
                endLink()
                folders.append(nextFolder)
                nextFolder = nil
            default: break
            }
        }

        private mutating func end(_ name: String) {
            switch name {
            case "a": link?.add("title", text)
            case "h1", "h2": heading = text.trimmingWhiteSpace()
            case "h3": nextFolder = text.trimmingWhiteSpace()
            case "dd": endRemark()
            case "dl", "ul":
                endRemark()
                endLink()
                if !folders.isEmpty { folders.removeLast() }
            default: return
            }
            text = ""
        }

        private mutating func endRemark() {
            if isInRemark { link?.add("remark", text) }
            isInRemark = false
        }

        mutating func endLink() {
            endRemark()
            if let link { body(.record(link)) }
            link = nil
        }
    }
}
