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
    /// A bit for each of `TimelineItem.texts` that was given.
    private var knownTexts: UInt64 = 0
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
                let isContent = name?.elementsEqual("content".utf8) ?? false
                let isID = name.flatMap { Field($0) } == .id
                try ahead.colon()
                var value = ahead
                let range = try ahead.skip()
                if isContent { content = range }
                guard isID else { continue }
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
        case .text(let number): try text(number, name, &reader)
        case .duration: try duration(name, &reader)
        case .tags: try tags(name, &reader)
        // The small server changes these with every GET: they say nothing about the item.
        case .accessCount, .accessedAt: try reader.skip()
        case nil: try keep(name, &reader)
        }
    }

    private mutating func text(
        _ number: Int, _ name: () -> String, _ reader: inout JSONReader
    ) throws(JSONReader.Failure) {
        if try reader.kind() != .string {
            try keep(name, &reader)
        } else if knownTexts & 1 << number == 0 {
            knownTexts |= 1 << number
            TimelineItem.texts[number].set(&item, try reader.string())
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
    enum Field: Sendable, Equatable {
        case id, createdAt, updatedAt, duration, tags, accessCount, accessedAt
        /// One of `TimelineItem.texts`.
        case text(Int)

        private static let known: [(name: StaticString, field: Field)] =
            [
                ("id", .id), ("createdAt", .createdAt), ("created_at", .createdAt), ("updatedAt", .updatedAt),
                ("updated_at", .updatedAt), ("duration", .duration), ("tags", .tags), ("accessCount", .accessCount),
                ("accessedAt", .accessedAt),
            ]
            + TimelineItem.texts.enumerated().flatMap { number, text in text.names.map { ($0, .text(number)) } }

        /// By length and first byte: the others are compared for a few candidates at most.
        init?(_ name: UnsafeBufferPointer<UInt8>) {
            guard let start = name.baseAddress, let first = name.first else { return nil }
            for (known, field) in Self.known
            where known.utf8CodeUnitCount == name.count && known.utf8Start[0] == first
                && memcmp(start, known.utf8Start, name.count) == 0
            {
                self = field
                return
            }
            return nil
        }
    }
}
