import Glibc
import PRSNLCore
import Store
import Testing

@testable import Commands

/// An item's file that a person has changed.
@Suite struct ItemFileTests {
    // MARK: Found while fuzzing

    @Test func aMarkerInTheHeadEndsWhatIsOurs() {
        let document = ItemDocument(ShownItem(item: TimelineItem(id: "59ec", createdAt: .earliest)))
        func provenance(_ row: String) -> Provenance {
            Provenance(copy: "0f3a5c7e", row: Fingerprint(row), hash: document.hash)
        }
        let written = document.file(provenance("1"), below: ItemFile.nothingBelow)
        let marker = Array("\(ItemDocument.marker)".utf8)
        let changed = Array("---\n".utf8) + marker + [0x0A] + written.dropFirst(4)
        let (renewed, isLossy) = ItemFile(changed, stat()).renewed(document, provenance("2"))
        #expect(FileHead(renewed).provenance == provenance("2") && isLossy)
        #expect(renewed.suffix(changed.count - 4 - marker.count) == changed.dropFirst(4 + marker.count))
    }
}
