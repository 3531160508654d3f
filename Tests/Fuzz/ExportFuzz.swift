import Glibc
import PRSNLCore
import Store

@testable import Commands

/// The names and the heads of an export's files, and what people make of them.
extension FuzzTarget {
    /// Eight bytes of a time; title, type and id, apart by a NUL.
    static let exportName = FuzzTarget(name: "export-name") { bytes in
        let number = bytes.prefix(8).reduce(Int64(0)) { $0 << 8 | Int64($1) }
        let time = Timestamp(microseconds: 0).advanced(by: .microseconds(number))
        let texts = bytes.dropFirst(8).split(separator: 0, maxSplits: 2, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        func name(_ title: String?) -> ItemFileName {
            ItemFileName(
                createdAt: time, title: title, type: texts.dropFirst().first, id: texts.dropFirst(2).first ?? "59ec")
        }
        let choices = (0..<4).map(name(texts.first).candidate)
        choices.forEach(check)
        require(Set(choices.map { $0.lowercased() }).count == choices.count, "two choices are one: \(choices)")
        // A name that is a title gives the same name, and so does the next run.
        let title = choices[0].unicodeScalars.dropFirst("2026-11-02 ".count).dropLast(ItemFileName.suffix.count)
        if title.isEmpty { return }
        let again = name(String(title)).candidate(0)
        require(again.utf8.elementsEqual(choices[0].utf8), "another name: \(choices[0]) \(again)")
    }

    private static func check(name: String) {
        require(name.utf8.count <= 255, "\(name.utf8.count) bytes of a name")
        require(name.hasSuffix(ItemFileName.suffix), "no suffix: \(name)")
        require(name.utf8.first.map(\.isASCIIDigit) ?? false, "begins with no date: \(name)")
        require(SafeText.harmless(name) == name, "not fit for a terminal: \(name)")
        let reserved = "/\\:*?\"<>|#^[]".unicodeScalars
        require(!name.unicodeScalars.contains { reserved.contains($0) }, "what a file system refuses: \(name)")
        require(![" ", "."].contains(name.dropLast(ItemFileName.suffix.count).last), "ends like none: \(name)")
    }

    /// A file of an export as a person has left it, the texts of an item, and what `edit` shows in an editor.
    static let frontMatter = FuzzTarget(name: "front-matter") { bytes in
        let text = String(decoding: bytes, as: UTF8.self)
        check(FileHead(bytes), bytes)
        checkRenewed(bytes)
        checkRenewed(spliced(bytes))
        checkWritten(text)
        checkEdited(text)
    }

    private static func document(_ id: String, _ text: String) -> ItemDocument {
        var item = TimelineItem(id: id, createdAt: Timestamp(microseconds: 1_762_000_000_000_000))
        (item.title, item.type, item.summary, item.url, item.tags) = (text, text, text, text, Tags.json([text, "a b"]))
        var shown = ShownItem(item: item)
        (shown.author, shown.publishedAt, shown.pending) = (text, text, text)
        (shown.text.content, shown.text.transcription) = (text, text + "!")
        return ItemDocument(shown)
    }

    private static let (old, new) = (document("59ec", "Sourdough"), document("59ec", "Rye bread"))

    private static func provenance(_ document: ItemDocument, _ row: String) -> Provenance {
        Provenance(copy: "0f3a5c7e", row: Fingerprint(row), hash: document.hash)
    }

    private static let written = old.file(provenance(old, "1"), below: Array("\nmine\n".utf8)[...])

    /// Two bytes of a place, one of a length, and what stands there now.
    private static func spliced(_ bytes: [UInt8]) -> [UInt8] {
        guard bytes.count > 3 else { return written }
        let place = (Int(bytes[0]) << 8 | Int(bytes[1])) % (written.count + 1)
        let end = min(place + Int(bytes[2]), written.count)
        return Array(written[..<place]) + bytes[3...] + written[end...]
    }

    private static func check(_ head: FileHead, _ bytes: [UInt8]) {
        if let line = head.line {
            require(line.lowerBound > 0 && line.upperBound <= bytes.count, "a line at \(line) of \(bytes.count)")
            require(bytes[line.lowerBound - 1] == 0x0A && bytes[line.upperBound - 1] == 0x0A, "no line")
        }
        // No other copy's is looked at.
        guard let provenance = head.provenance, provenance.copy.utf8.allSatisfy(\.isASCIILetterOrDigit) else { return }
        let again = FileHead(Array("---\n".utf8) + provenance.line)
        require(again.provenance == provenance, "reads as another: \(provenance)")
    }

    /// What is written in a file's place is read as what was written, and has what stands below the marker.
    private static func checkRenewed(_ bytes: [UInt8]) {
        let file = ItemFile(bytes, stat())
        for document in [old, new] {
            let provenance = provenance(document, "2")
            let (renewed, isLossy) = file.renewed(document, provenance)
            require(FileHead(renewed).provenance == provenance, "its head says something else")
            let below = ItemDocument.endOfMarker(in: bytes).map { bytes[$0...] }
            let kept = ItemDocument.endOfMarker(in: renewed).map { renewed[$0...] }
            require(below == nil || kept == below, "what stands below has changed")
            require(!file.isUntouched || !isLossy, "nothing of a person's, and lost")
            let again = ItemFile(renewed, stat())
            require(again.renewed(document, provenance).bytes == renewed, "renewed again, it is another")
            if isLossy {
                require(again.isUntouched == (kept == ItemFile.nothingBelow), "as written, and taken for changed")
            }
        }
    }

    /// Any text of an item makes a file that is known as the export's own.
    private static func checkWritten(_ text: String) {
        let document = document(text, text)
        let provenance = provenance(document, text)
        let file = document.file(provenance, below: ItemFile.nothingBelow)
        let head = FileHead(file)
        require(head.id.map { $0.utf8.elementsEqual(text.utf8) } ?? false, "another id: \(head.id ?? "none")")
        require(head.provenance == provenance, "its head says something else")
        require(ItemFile(file, stat()).isUntouched, "taken for changed")
        require(ItemDocument.endOfMarker(in: file) == file.count - 1, "another marker")
    }

    private static func checkEdited(_ text: String) {
        var original = EditedItem(TimelineItem(id: "59ec", createdAt: .earliest))
        let half = text.unicodeScalars.index(text.startIndex, offsetBy: text.unicodeScalars.count / 2)
        (original.title, original.summary) = (text, String(text[half...]))
        original.tags = text.split(separator: "\n").map(String.init)
        checkReadAgain(original)
        do throws(UserFacingError) {
            checkReadAgain(try EditedItem(text, of: original))
        } catch {
            require(error.code == .writeInvalid, "refused as \(error.code)")
            require(SafeText.harmless(error.message) == error.message, "not fit for a terminal: \(error.message)")
        }
    }

    private static func checkReadAgain(_ edited: EditedItem) {
        do throws(UserFacingError) {
            let again = try EditedItem(edited.text, of: EditedItem(TimelineItem(id: "59ec", createdAt: .earliest)))
            require(
                ([again.title, again.summary] + again.tags).map(ByteText.init)
                    == ([edited.title, edited.summary] + edited.tags).map(ByteText.init),
                "reads as another: \(edited) \(again)")
        } catch { fatalError("cannot be read again: \(error.message) \(edited)") }
    }
}
