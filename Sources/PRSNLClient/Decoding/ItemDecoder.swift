import Glibc
import PRSNLCore

/// Reads one element of a timeline. Called a hundred times per page, so it looks at names as bytes and makes a `String`
/// only of what is kept.
struct ItemDecoder {
    enum Outcome {
        case item(TimelineItem)
        case rejected(RejectedItem)
    }

    private var item = TimelineItem(id: "", createdAt: .earliest)
    private var hasCreatedAt = false
    /// What is wrong with `id` and `createdAt`, where they were given.
    private var idProblem = "id: missing"
    private var createdAtProblem = "createdAt: missing"
    /// Members without a property, with their raw values.
    private var extra = ExtraMembers()

    /// Reads past one element. Throws only when the JSON itself is broken.
    static func decode(_ reader: inout JSONReader) throws(JSONReader.Failure) -> Outcome {
        guard try reader.kind() == .object else {
            let range = try reader.skip()
            return .rejected(RejectedItem(id: nil, raw: reader.text(Self.cut(range)), reason: "not an object"))
        }
        let start = reader.offset
        if let rejected = try tooLarge(&reader) { return .rejected(rejected) }
        var decoder = ItemDecoder()
        if try reader.enterObject() {
            repeat { try decoder.member(&reader) } while try reader.nextMember()
        }
        return decoder.outcome(reader, start..<reader.offset)
    }

    private consuming func outcome(_ reader: JSONReader, _ range: Range<Int>) -> Outcome {
        if item.id.isEmpty || !hasCreatedAt {
            let reason = item.id.isEmpty ? idProblem : createdAtProblem
            return .rejected(
                RejectedItem(id: item.id.isEmpty ? nil : item.id, raw: reader.text(Self.cut(range)), reason: reason))
        }
        item.extra = extra.object
        return .item(item)
    }

    /// Bytes of an item in JSON, its text not counted, and of its text. Every copy that is made of a field costs as much memory.
    static let largest = 1 << 20, largestContent = 8 << 20
    private static let largestID = 1_024

    /// An item of which no text may be made: it is read past. Pages that are small as a whole are not looked through for it.
    private static func tooLarge(_ reader: inout JSONReader) throws(JSONReader.Failure) -> RejectedItem? {
        guard reader.bytesLeft > largest else { return nil }
        var ahead = reader
        let range = try ahead.skip()
        guard range.count > largest else { return nil }
        let end = ahead
        ahead = reader
        var (isIDTooLarge, content): (Bool, Range<Int>?) = (false, nil)
        var known = ItemDecoder()
        if try ahead.enterObject() {
            repeat {
                let name = try ahead.plainString()
                if name == nil { try ahead.skip() }
                let field = name.flatMap { Field($0) }
                try ahead.colon()
                var value = ahead
                let range = try ahead.skip()
                if field == .content { content = range }
                guard field == .id else { continue }
                isIDTooLarge = range.count > largestID
                if !isIDTooLarge { try known.id(&value) }
            } while try ahead.nextMember()
        }
        let size = range.count - (content?.count ?? 0)
        let problem: String
        if size > largest || isIDTooLarge {
            problem = "\(size) bytes without its text, of which at most \(largest) are read"
        } else if let content, content.count > largestContent || !reader.isUTF8(content) {
            problem = "its text has \(content.count) bytes, or is no UTF-8"
        } else {
            return nil
        }
        let raw = reader.text(cut(range))
        reader = end
        return RejectedItem(id: known.item.id.isEmpty ? nil : known.item.id, raw: raw, reason: problem)
    }

    /// Of an item that cannot be read, the first 64 KiB are kept.
    private static func cut(_ range: Range<Int>) -> Range<Int> {
        range.lowerBound..<min(range.upperBound, range.lowerBound + ExtraMembers.largest)
    }

    // MARK: Members

    private mutating func member(_ reader: inout JSONReader) throws(JSONReader.Failure) {
        guard let bytes = try reader.plainString() else {
            let name = try reader.string()
            try reader.colon()
            // An escaped name can still be one that we know.
            var copy = name
            let field = copy.withUTF8 { Field($0) }
            return try value(field, { name }, &reader)
        }
        let field = Field(bytes)
        try reader.colon()
        try value(field, { String(decoding: bytes, as: UTF8.self) }, &reader)
    }

    @inline(__always)
    private mutating func value(
        _ field: Field?, _ name: () -> String, _ reader: inout JSONReader
    ) throws(JSONReader.Failure) {
        if try reader.null() { return }  // null means not said
        switch field {
        case .id: try id(&reader)
        case .createdAt: try createdAt(&reader)
        case .updatedAt: try updatedAt(name, &reader)
        case .type: try Self.text(&item.type, &extra, name, &reader)
        case .title: try Self.text(&item.title, &extra, name, &reader)
        case .url: try Self.text(&item.url, &extra, name, &reader)
        case .summary: try Self.text(&item.summary, &extra, name, &reader)
        case .content: try Self.text(&item.content, &extra, name, &reader)
        case .platform: try Self.text(&item.platform, &extra, name, &reader)
        case .category: try Self.text(&item.category, &extra, name, &reader)
        case .thumbnailURL: try Self.text(&item.thumbnailURL, &extra, name, &reader)
        case .filePath: try Self.text(&item.filePath, &extra, name, &reader)
        case .status: try Self.text(&item.status, &extra, name, &reader)
        case .permalink: try Self.text(&item.permalink, &extra, name, &reader)
        case .duration: try duration(name, &reader)
        case .tags: try tags(name, &reader)
        // The small server changes these with every GET: they say nothing about the item.
        case .accessCount, .accessedAt: try reader.skip()
        case nil: try keep(name, &reader)
        }
    }

    private static func text(
        _ property: inout String?, _ extra: inout ExtraMembers, _ name: () -> String,
        _ reader: inout JSONReader
    ) throws(JSONReader.Failure) {
        if try reader.kind() != .string {
            extra.add(name(), reader.text(try reader.skip()))
        } else if property == nil {
            property = try reader.string()
        } else {
            try reader.skip()  // said twice, under two of its names
        }
    }

    private mutating func id(_ reader: inout JSONReader) throws(JSONReader.Failure) {
        guard try reader.kind() == .string else {
            idProblem = "id: not a text"
            try reader.skip()
            return
        }
        item.id = try reader.string()
        if item.id.isEmpty { idProblem = "id: empty" }
        // SQLite's own functions end a text there.
        if item.id.withUTF8({ id in id.baseAddress.map { memchr($0, 0, id.count) != nil } ?? false }) {
            item.id = ""
            idProblem = "id: has a NUL character"
        }
    }

    private mutating func createdAt(_ reader: inout JSONReader) throws(JSONReader.Failure) {
        if hasCreatedAt {
            try reader.skip()
            return
        }
        let start = reader.offset
        if let time = try time(&reader) {
            item.createdAt = time
            hasCreatedAt = true
        } else {
            createdAtProblem =
                "createdAt: not a time: \(reader.text(start..<reader.offset).trimmingSpaces().prefix(60))"
        }
    }

    private mutating func updatedAt(_ name: () -> String, _ reader: inout JSONReader) throws(JSONReader.Failure) {
        let start = reader.offset
        if let time = try time(&reader) {
            if item.updatedAt == nil { item.updatedAt = time }
        } else {
            extra.add(name(), reader.text(start..<reader.offset).trimmingSpaces())
        }
    }

    /// Reads any value; `nil` if it is not a time.
    private func time(_ reader: inout JSONReader) throws(JSONReader.Failure) -> Timestamp? {
        guard try reader.kind() == .string else {
            try reader.skip()
            return nil
        }
        if let bytes = try reader.plainString() { return Timestamp(bytes: bytes) }
        return Timestamp(try reader.string())
    }

    private mutating func duration(_ name: () -> String, _ reader: inout JSONReader) throws(JSONReader.Failure) {
        guard try reader.kind() == .number else { return try keep(name, &reader) }
        let number = try reader.numberText()
        if let seconds = Double(number), seconds.isFinite {
            item.duration = seconds
        } else {
            extra.add(name(), number)
        }
    }

    /// Texts, sorted by bytes and each once; tags that are not all texts are kept as they came.
    private mutating func tags(_ name: () -> String, _ reader: inout JSONReader) throws(JSONReader.Failure) {
        guard try reader.kind() == .array else { return try keep(name, &reader) }
        let start = reader.offset
        var tags: [String] = []
        var areTexts = true
        if try reader.enterArray() {
            repeat {
                if try reader.kind() == .string {
                    tags.append(try reader.string())
                } else {
                    areTexts = false
                    try reader.skip()
                }
            } while try reader.nextElement()
        }
        if areTexts {
            item.tags = Tags.json(tags, written: reader.raw(start..<reader.offset))
        } else {
            extra.add(name(), reader.text(start..<reader.offset).trimmingSpaces())
        }
    }

    private mutating func keep(_ name: () -> String, _ reader: inout JSONReader) throws(JSONReader.Failure) {
        let range = try reader.skip()
        extra.add(name(), reader.text(range))
    }
}

/// What a server says of an item beyond what has a column, as it came. Fields that servers of today do not have must not fill
/// the disk: of more than 64 KiB, what comes last is left out, and how much that was stands in its place.
struct ExtraMembers {
    static let largest = 64 << 10
    static let leftOutName = "prsnld_left_out_bytes"

    private var members: [(name: String, raw: String)] = []
    private var size = 0
    private var leftOut = 0

    mutating func add(_ name: String, _ raw: String) {
        let cost = name.utf8.count + raw.utf8.count
        guard size + cost <= Self.largest else { return leftOut += cost }
        size += cost
        members.append((name, raw))
    }

    /// The members by name; of a repeated name the last, as most readers of JSON take it. `nil` where there are none.
    var object: String? {
        guard !members.isEmpty || leftOut > 0 else { return nil }
        var byName: [ByteText: String] = [:]
        for (name, raw) in members { byName[ByteText(name)] = raw }
        if leftOut > 0 { byName[ByteText(Self.leftOutName)] = "\(leftOut)" }
        var bytes: [UInt8] = [UInt8(ascii: "{")]
        for (name, raw) in byName.sorted(by: { $0.key < $1.key }) {
            if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
            JSONText.appendString(name.text, to: &bytes)
            bytes.append(UInt8(ascii: ":"))
            bytes.append(contentsOf: raw.utf8)
        }
        bytes.append(UInt8(ascii: "}"))
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension ItemDecoder {
    /// The members of an item that have a meaning here, under every name that a dialect gives them.
    enum Field {
        case id, createdAt, updatedAt, type, title, url, summary, content, platform, category, thumbnailURL, duration
        case filePath, status, tags, permalink, accessCount, accessedAt

        /// By length first: a comparison of bytes is made for a few candidates at most.
        init?(_ name: UnsafeBufferPointer<UInt8>) {
            guard let start = name.baseAddress else { return nil }
            func matches(_ candidate: StaticString) -> Bool {
                memcmp(start, candidate.utf8Start, candidate.utf8CodeUnitCount) == 0
            }
            switch name.count {
            case 2 where matches("id"): self = .id
            case 3 where matches("url"): self = .url
            case 4 where matches("tags"): self = .tags
            case 4 where matches("type"): self = .type
            case 5 where matches("title"): self = .title
            case 6 where matches("status"): self = .status
            case 7 where matches("summary"): self = .summary
            case 7 where matches("content"): self = .content
            case 8 where matches("platform"): self = .platform
            case 8 where matches("category"): self = .category
            case 8 where matches("duration"): self = .duration
            case 8 where matches("itemType"): self = .type
            case 8 where matches("filePath"): self = .filePath
            case 9 where matches("createdAt"): self = .createdAt
            case 9 where matches("updatedAt"): self = .updatedAt
            case 9 where matches("file_path"): self = .filePath
            case 9 where matches("permalink"): self = .permalink
            case 9 where matches("item_type"): self = .type
            case 10 where matches("created_at"): self = .createdAt
            case 10 where matches("updated_at"): self = .updatedAt
            case 10 where matches("accessedAt"): self = .accessedAt
            case 11 where matches("accessCount"): self = .accessCount
            case 12 where matches("thumbnailUrl"): self = .thumbnailURL
            case 13 where matches("thumbnail_url"): self = .thumbnailURL
            default: return nil
            }
        }
    }
}
