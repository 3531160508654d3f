import PRSNLClient
import PRSNLCore
import Store
import Testing

@testable import SyncEngine

@Suite struct CreationSearchTests {
    private func candidate(_ id: String, title: String?, content: String? = nil, status: String = "completed")
        -> TimelineItem
    {
        var item = TimelineItem(id: id, createdAt: Timestamp(microseconds: 5_000_000))
        item.title = title
        item.status = status
        item.content = content
        return item
    }

    @Test func aCreationIsFoundByItsTextAndNotByItsName() {
        let evidence = SendEvidence(knownIDs: ["old"])
        let search = CreationSearch(item: NewItem(title: "Groceries", note: " Bread and \u{1C}"), evidence: evidence)
        func outcome(_ candidates: TimelineItem...) -> CreationSearch.Outcome { search.outcome(candidates) }
        #expect(outcome() == .absent)
        #expect(outcome(candidate("a", title: "Other", content: "Bread and")) == .found(id: "a"))
        #expect(outcome(candidate("a", title: "Other", content: "Other")) == .absent)
        #expect(outcome(candidate("a", title: "Bread and", status: "failed")) == .found(id: "a"))
        #expect(outcome(candidate("a", title: "Groceries", status: "failed")) == .ambiguous)
        #expect(outcome(candidate("a", title: "Groceries", content: "Milk")) == .ambiguous)
        #expect(outcome(candidate("a", title: "Groceries", status: "pending")) == .unsettled)
        // Retitled by another client before its text could be read.
        #expect(outcome(candidate("a", title: "Theirs", status: "pending")) == .unsettled)
        #expect(outcome(candidate("a", title: "Theirs", status: "failed")) == .ambiguous)
        #expect(
            outcome(candidate("a", title: "x", content: "Bread and"), candidate("b", title: "y", content: "Bread and"))
                == .ambiguous)
        #expect(!search.isCandidate(candidate("old", title: nil)))
        // What the server works on is waited for only where it could be it.
        #expect(search.isCandidate(candidate("a", title: "Untitled", status: "pending")))
        #expect(search.isCandidate(candidate("a", title: "Groceries", status: "pending")))
        var other = candidate("a", title: "Something else", status: "pending")
        #expect(!search.isCandidate(other))
        // One that was changed since may be ours, retitled elsewhere. Found by the storm, which saw a note doubled.
        other.updatedAt = other.createdAt
        #expect(!search.isCandidate(other))
        other.updatedAt = other.createdAt.next
        #expect(search.isCandidate(other))
    }

    /// Found by the storm, which saw a note doubled.
    @Test func aNoteThatAnotherClientHasRewrittenMayBeOurs() {
        let search = CreationSearch(
            item: NewItem(note: "Bread", tags: ["a"]), evidence: SendEvidence(knownIDs: []), dialect: .express)
        var other = candidate("a", title: "Theirs", content: "Milk")
        other.tags = #"["a"]"#
        #expect(search.outcome([other]) == .absent)
        other.updatedAt = other.createdAt.next
        #expect(search.outcome([other]) == .ambiguous)
        other.tags = #"["b"]"#
        #expect(search.outcome([other]) == .absent)
    }

    @Test func aNoteOfMoreThanHalfOurWordsMayBeOurs() {
        let search = CreationSearch(
            item: NewItem(note: "Bread, butter and milk", tags: ["a"]), evidence: SendEvidence(knownIDs: []))
        func outcome(_ content: String, tags: String = "[]") -> CreationSearch.Outcome {
            var other = candidate("a", title: "Theirs", content: content)
            other.tags = tags
            return search.outcome([other])
        }
        #expect(outcome("To buy: milk, bread and butter, the cheap one") == .ambiguous)
        #expect(outcome("Buy milk and bread") == .ambiguous)
        #expect(outcome("Buy milk") == .absent)
        #expect(outcome("Buy some milk") == .absent)
        #expect(outcome("The bread is made of wheat") == .absent)
        #expect(outcome("Bread, butter and milk!", tags: #"["b"]"#) == .absent)
        #expect(outcome("...") == .absent)
    }

    @Test func aTextIsTheSameHoweverTheServerSpacesIt() {
        let search = CreationSearch(
            item: NewItem(note: "Bread,  butter\n\nand\tmilk\n"), evidence: SendEvidence(knownIDs: []))
        #expect(
            search.outcome([candidate("a", title: "Bread, butter", content: "Bread, butter and milk")])
                == .found(id: "a"))
        #expect(ServerText.isSame("<b>Bold</b> &  plain", "Bold & plain"))
        #expect(!ServerText.isSame("a < b", "a"))
    }

    /// Another client may have captured the same URL in the same moment.
    @Test func ofSeveralItemsWithOurURLTheOneWithOurTitleAndTagsIsOurs() {
        let url = "https://example.org/a"
        let search = CreationSearch(
            item: NewItem(url: url, title: "Ours", tags: ["b", "a"]), evidence: SendEvidence(knownIDs: []))
        func there(_ id: String, _ title: String, _ tags: String) -> TimelineItem {
            var candidate = candidate(id, title: title)
            candidate.url = url
            candidate.tags = tags
            return candidate
        }
        let theirs = there("a", "Theirs", "[]")
        #expect(search.outcome([theirs]) == .found(id: "a"))
        #expect(search.outcome([theirs, there("b", "Ours", #"["a","b"]"#)]) == .found(id: "b"))
        #expect(search.outcome([theirs, there("b", "The page's title", #"["a","b"]"#)]) == .found(id: "b"))
        #expect(search.outcome([theirs, there("b", "Another", "[]")]) == .ambiguous)
        #expect(search.outcome([there("a", "Ours", #"["a","b"]"#), there("b", "Ours", #"["a","b"]"#)]) == .ambiguous)
    }
}
