import PRSNLCore
import Store
import Testing

@testable import SyncEngine

@Suite struct EditComparisonTests {
    @Test func anEditIsSentOnlyOverWhatItWasMadeOn() {
        let ours = ItemEdit(title: "Ours", tags: ["b", "a"])
        let base = ItemEdit(title: "Base", tags: ["x"])
        #expect(
            EditComparison(ours, base: base, theirs: ItemEdit(title: "Ours", tags: ["a", "b"]), wasSent: false) == .done
        )
        #expect(EditComparison(ours, base: base, theirs: ItemEdit(title: "Base", tags: ["x"]), wasSent: false) == .send)
        #expect(EditComparison(ours, base: base, theirs: ItemEdit(title: "Ours", tags: ["x"]), wasSent: false) == .send)
        let theirs = ItemEdit(title: "Theirs", tags: ["x"])
        #expect(
            EditComparison(ours, base: base, theirs: theirs, wasSent: false)
                == .conflict(theirs: ItemEdit(title: "Theirs")))
        // What people here have seen, or have sent, is not another's.
        let known = [ItemEdit(title: "Theirs"), ItemEdit(tags: ["y"])]
        #expect(EditComparison(ours, base: base, known: known, theirs: theirs, wasSent: false) == .send)
        #expect(EditComparison(ours, base: nil, theirs: theirs, wasSent: false) == .send)
        #expect(
            EditComparison(
                ItemEdit(summary: "S"), base: ItemEdit(), theirs: ItemEdit(title: "T", summary: ""), wasSent: false)
                == .send
        )
        // What was sent may come back as the server has cleaned it; what was not is another text.
        let spaced = ItemEdit(title: "Base  of")
        #expect(EditComparison(spaced, base: base, theirs: ItemEdit(title: "Base of"), wasSent: true) == .done)
        #expect(
            EditComparison(spaced, base: ItemEdit(title: "Base of"), theirs: ItemEdit(title: "Base of"), wasSent: true)
                == .send)
    }

    @Test func aTextThatTheServerHasCutIsOurs() {
        let long = String(repeating: "word ", count: 60)
        let cut = ItemEdit(title: String(long.prefix(200)))
        let edit = ItemEdit(title: long)
        let base = ItemEdit(title: "Base")
        #expect(EditComparison(edit, base: base, theirs: cut, wasSent: true) == .done)
        #expect(EditComparison(edit, base: base, theirs: cut, wasSent: false) == .conflict(theirs: cut))
        let short = ItemEdit(title: "word")
        #expect(EditComparison(edit, base: base, theirs: short, wasSent: true) == .conflict(theirs: short))
    }

    @Test func anAnswerThatShowsTheOldValueHasIgnoredTheEdit() {
        let edit = ItemEdit(title: "New", tags: ["a"])
        let base = ItemEdit(title: "Old", tags: [])
        func isIgnored(_ theirs: ItemEdit) -> Bool { EditComparison.isIgnored(edit, base: base, theirs: theirs) }
        #expect(isIgnored(base))
        #expect(isIgnored(ItemEdit(title: "New", tags: [])))
        #expect(!isIgnored(edit))
        // A field that the answer lacks says nothing, and another value is the server's own form of ours.
        #expect(!isIgnored(ItemEdit(title: "New")))
        #expect(!isIgnored(ItemEdit(title: "NEW", tags: ["A"])))
    }
}
