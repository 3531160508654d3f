import PRSNLCore
import TestSupport
import Testing

@testable import Commands

/// What `edit ID` shows in an editor, and reads from it.
@Suite struct EditedItemTests {
    private func item(_ title: String?, _ summary: String? = nil, _ tags: [String] = []) -> EditedItem {
        var item = TimelineItem(id: "i", createdAt: Timestamp(microseconds: 0))
        (item.title, item.summary, item.tags) = (title, summary, Tags.json(tags))
        return EditedItem(item)
    }

    @Test(arguments: ["Plain", "a: \"quoted\" \\ # title", "", "Zwei\nZeilen\tund", "日本語 🙂", "---", "- a", "[x]"])
    func whatIsNotChangedIsNoEdit(title: String) throws {
        let original = item(title, title + " s", ["a", "b c"])
        #expect(try EditedItem(original.text, of: original) == original)
        #expect(try EditedItem(original.text, of: original).edit(of: original).isEmpty)
    }

    @Test func whatIsChangedIsTheEdit() throws {
        let original = item("Old", "Summary", ["a", "b"])
        let text = "\n---\ntitle: New title, without marks\nsummary: \"\"\ntags: [a, \"c d\"]\n---\n\n"
        #expect(
            try EditedItem(text, of: original).edit(of: original)
                == ItemEdit(
                    title: "New title, without marks", summary: "", tagChange: TagChange(added: ["c d"], removed: ["b"])
                ))
        let lines = "---\r\ntitle: Old\r\nsummary: Summary\r\ntags:\r\n  - a\r\n  - \"x\"\r\n---\r\n"
        #expect(
            try EditedItem(lines, of: original).edit(of: original)
                == ItemEdit(tagChange: TagChange(added: ["x"], removed: ["b"])))
    }

    @Test func whatIsLeftOutStays() throws {
        let original = item("Old", "Summary", ["a"])
        #expect(try EditedItem("---\ntitle: New\n---", of: original).edit(of: original) == ItemEdit(title: "New"))
    }

    @Test(arguments: [
        ("# half an hour's words\n", "line 1: the text stands between"), ("---\n", "line 1: the text stands between"),
        ("---\ntitle: A\n---\nmore words", "line 4: the text stands between two lines of three dashes"),
        ("title: A\n---\n", "line 1: the text"), ("---\ntitle: A\n", "line 2: the text"),
        ("---\nurl: x\n---", "line 2: url cannot be edited"), ("---\ntitle: \"A\n---", "line 2: the quotation marks"),
        ("---\ntitle: A\ntitle: B\n---", "line 3: title is there twice"), ("---\nno colon\n---", "line 2: the colon"),
    ])
    func whatCannotBeReadIsNamedByItsLine(text: String, reason: String) {
        do throws(UserFacingError) {
            _ = try EditedItem(text, of: item("A"))
            Issue.record("read")
        } catch {
            #expect(error.message.contains(reason), "\(error.message)")
        }
    }

    // MARK: Found while fuzzing

    @Test func aTextThatBeginsWithAnAccentIsRead() throws {
        let original = item("\u{301}a", "\u{200D}b", ["\u{20E3}c"])
        #expect(try EditedItem(original.text, of: item("")) == original)
    }
}
