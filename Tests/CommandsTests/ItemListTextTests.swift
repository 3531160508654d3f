import CommandSamples
import Console
import PRSNLCore
import Testing

@testable import Commands
@testable import Store

/// The text of `search` and `list`.
@Suite struct ItemListTextTests {
    private func report(title: String?, url: String? = nil, parts: [Snippet.Part] = []) -> ItemListReport {
        var list = ItemList()
        list.items = [
            ListedItem(
                id: "59ec0d4e-1", createdAt: Samples.now, type: "article", title: title, url: url, tags: #"["bread"]"#)
        ]
        let passage = parts.isEmpty ? nil : Snippet(field: "text", parts: parts)
        return ItemListReport(list, shortIDs: ["59ec0d4e"], places: [(nil, passage)], words: "x")
    }

    @Test(arguments: [("a", "", "a"), ("", "b", "b"), ("a", "a", "a"), ("a", "b", "a\n\nb")])
    func theRawTextHasNothingOfATextThatIsEmpty(content: String, transcription: String, raw: String) {
        var shown = ShownItem(item: TimelineItem(id: "59ec0d4e-1", createdAt: Samples.now))
        shown.text.content = content
        shown.text.transcription = transcription
        #expect(ItemReport(shown).rawText == raw)
    }

    @Test func whatDoesNotFitIsCut() {
        var style = TextStyle()
        style.rowWidth = 60
        let parts = [
            Snippet.Part(text: "before ", isFound: false), Snippet.Part(text: "found", isFound: true),
            Snippet.Part(text: String(repeating: " after", count: 30), isFound: false),
        ]
        let lines = report(title: String(repeating: "long ", count: 30), parts: parts).text(style).split(
            separator: "\n")
        #expect(lines.count == 2)
        #expect(lines.allSatisfy { TextLayout.width(String($0)) <= 60 }, "\(lines)")
        #expect(lines[1].hasSuffix("..."))
    }

    @Test func aTitleLeadsToItsAddressWhereTheTerminalSaysSo() {
        var style = TextStyle()
        let item = report(title: "Bread", url: "https://example.org/bread")
        #expect(!item.text(style).contains("\u{1B}"))
        style.hasLinks = true
        #expect(item.text(style).contains("\u{1B}]8;;https://example.org/bread\u{1B}\\Bread\u{1B}]8;;\u{1B}\\"))
        // An address that could end the sequence leads nowhere.
        for url in [
            "javascript:alert(1)", "https://x/\u{7}", "https://x/\u{1B}\\", "https://x/ y", "file:///etc/passwd",
        ] {
            #expect(!report(title: "Bread", url: url).text(style).contains("]8;;"), "\(url)")
        }
    }

    @Test func onlyKnownTerminalsGetLinks() {
        // No terminal here: never.
        let environment = ["VTE_VERSION": "7000", "TERM": "xterm-256color", "FORCE_HYPERLINK": "1"]
        #expect(!TextStyle(descriptor: -1, environment: environment, ServiceUnit()).hasLinks)
    }

    @Test func anItemWithoutATitleHasItsAddress() {
        #expect(report(title: nil, url: "https://example.org/x").text(TextStyle()).contains("https://example.org/x"))
        #expect(report(title: nil).text(TextStyle()).contains("(no title)"))
    }
}
