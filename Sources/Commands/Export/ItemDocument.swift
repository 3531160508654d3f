import PRSNLCore
import Store

/// What an export writes into an item's file: everything up to the marker line, without that line's end. What follows is the
/// person's.
struct ItemDocument {
    static let marker = "<!-- prsnld: what you write below this line is kept -->"

    /// Without the line `prsnld`.
    let bytes: [UInt8]
    let hash: Fingerprint
    private let placeOfProvenance: Int

    init(_ shown: ShownItem) {
        let matter = Self.frontMatter(shown)
        var bytes = matter.bytes
        let content = shown.text.content.flatMap { $0.isEmpty ? nil : $0 }
        let transcription = shown.text.transcription.flatMap { $0.isEmpty || $0 == content ? nil : $0 }
        if content == nil, transcription == nil, let summary = shown.item.summary, !summary.isEmpty {
            Self.append(summary, to: &bytes, prefix: "> ")
        }
        if let content { Self.append(content, to: &bytes) }
        if let transcription {
            bytes.append(contentsOf: "\n## Transcription\n".utf8)
            Self.append(transcription, to: &bytes)
        }
        bytes.append(0x0A)
        bytes.append(contentsOf: Self.marker.utf8)
        self.bytes = bytes
        hash = Fingerprint(bytes[...])
        placeOfProvenance = matter.placeOfProvenance
    }

    func file(_ provenance: Provenance, below: ArraySlice<UInt8>) -> [UInt8] {
        bytes[..<placeOfProvenance] + provenance.line + bytes[placeOfProvenance...] + below
    }

    private static func frontMatter(_ shown: ShownItem) -> FrontMatter {
        let item = shown.item
        var matter = FrontMatter()
        matter.add("title", item.title)
        matter.add("date", item.createdAt.description)
        matter.add("lastmod", item.updatedAt?.description)
        matter.add("id", item.id)
        matter.reserveProvenance()
        // `type` chooses a template in Hugo, and `url` a page's address.
        matter.add("item_type", item.type)
        matter.add("source", item.url)
        matter.add("platform", item.platform)
        matter.add("author", shown.author)
        // Hugo takes `published` for a date, and stops at one that it cannot read.
        if let published = shown.publishedAt {
            matter.add(beginsWithDate(published) ? "published" : "published_text", published)
        }
        matter.add("tags", list: tags(item.tags))
        matter.add("status", item.status == "completed" ? nil : item.status)
        matter.add("pending", shown.pending)
        return matter
    }

    /// Obsidian's tags have no spaces.
    private static func tags(_ json: String?) -> [String] {
        var known: Set<ByteText> = []
        return (Tags.parse(json) ?? []).map { tag in
            tag.split(whereSeparator: \.isWhitespace).joined(separator: "-")
        }.filter { !$0.isEmpty && known.insert(ByteText($0)).inserted }
    }

    /// `2026-11-02`, alone or with a time behind it.
    private static func beginsWithDate(_ text: String) -> Bool {
        let bytes = Array(text.utf8.prefix(11))
        guard bytes.count >= 10 else { return false }
        let isDate = bytes.prefix(10).enumerated().allSatisfy { index, byte in
            index == 4 || index == 7 ? byte == UInt8(ascii: "-") : (0x30...0x39).contains(byte)
        }
        return isDate && (bytes.count == 10 || text.utf8.count > 11 && bytes[10] == UInt8(ascii: "T"))
    }

    /// A paragraph, with an empty line ahead. A line that looks like the marker gets a backslash, by which Markdown shows it
    /// as it is: so the first marker line of a file is always ours.
    private static func append(_ text: String, to bytes: inout [UInt8], prefix: String = "") {
        bytes.append(0x0A)
        var text = text
        text.withUTF8 { text in
            guard !prefix.isEmpty || text.offset(of: UInt8(ascii: "<")) != nil else {
                return bytes.append(contentsOf: text)
            }
            for (index, line) in text.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
                if index > 0 { bytes.append(0x0A) }
                bytes.append(contentsOf: prefix.utf8)
                if isMarker(line) { bytes.append(UInt8(ascii: "\\")) }
                bytes.append(contentsOf: line)
            }
        }
        if bytes.last != 0x0A { bytes.append(0x0A) }
    }

    // MARK: The marker

    private static func isMarker(_ line: some BidirectionalCollection<UInt8>) -> Bool {
        func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }
        var line = line[...]
        while let first = line.first, isBlank(first) { line = line.dropFirst() }
        while let last = line.last, isBlank(last) { line = line.dropLast() }
        return line.elementsEqual(marker.utf8)
    }

    /// Where what a person wrote below the marker begins: behind the first marker line's text. `nil` where there is none.
    static func endOfMarker(in bytes: [UInt8]) -> Int? {
        let line = bytes.split(separator: 0x0A).first { isMarker($0) }
        return line?.lastIndex(of: UInt8(ascii: ">")).map { $0 + 1 }
    }
}
