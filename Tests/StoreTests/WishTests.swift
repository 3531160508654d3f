import PRSNLCore
import Testing

@testable import Store

/// What follows of what was said of an item, and what the server has.
@Suite struct WishTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var words: [Wish.Word]
        var theirs: ItemEdit
        /// What follows, and whose words these are.
        var lacking = Wish.FollowUp()
        /// What need not be looked at again.
        var settled: [Int64] = []

        init(
            _ name: String, _ words: [Wish.Word], on theirs: ItemEdit, follows edit: ItemEdit = ItemEdit(),
            of entries: Set<Int64> = [], settled: [Int64] = []
        ) {
            testDescription = name
            self.words = words
            self.theirs = theirs
            lacking = Wish.FollowUp(edit: edit, entries: entries)
            self.settled = settled
        }
    }

    private static func capture(
        _ entry: Int64, _ title: String? = nil, _ tags: [String] = [], remark: String? = nil,
        is standing: Wish.Word.Standing = .unverified
    ) -> Wish.Word {
        Wish.Word(
            entry: entry, isCreation: true, standing: standing,
            said: ItemEdit(title: title, summary: remark, tags: tags))
    }

    private static func edit(
        _ entry: Int64, _ title: String? = nil, _ tags: [String]? = nil, summary: String? = nil,
        adds: [String] = [], removes: [String] = [], is standing: Wish.Word.Standing
    ) -> Wish.Word {
        let change = TagChange(added: adds, removed: removes)
        return Wish.Word(
            entry: entry, isCreation: false, standing: standing,
            said: ItemEdit(title: title, summary: summary, tags: tags, tagChange: change))
    }

    private static let scraped = ItemEdit(title: "Scraped", tags: ["s"])

    static let cases: [Case] = [
        Case("nothing was said", [], on: scraped),
        Case("the server has it", [capture(1, "Scraped", ["s"])], on: scraped, settled: [1]),
        Case(
            "title and tags", [capture(1, "A", ["a"])], on: scraped,
            follows: ItemEdit(title: "A", tagChange: TagChange(added: ["a"])), of: [1]
        ),
        Case(
            "the last title and all tags", [capture(1, "A", ["a"]), capture(2, "B", ["b"])], on: scraped,
            follows: ItemEdit(title: "B", tagChange: TagChange(added: ["a", "b"])), of: [1, 2]),
        Case(
            "a capture without a title leaves the earlier one", [capture(1, "A"), capture(2, nil, ["b"])], on: scraped,
            follows: ItemEdit(title: "A", tagChange: TagChange(added: ["b"])), of: [1, 2]),
        Case(
            "an earlier capture that was delivered later",
            [capture(1, "A", ["a"]), capture(2, "B", ["s"], is: .delivered)], on: ItemEdit(title: "B", tags: ["s"]),
            follows: ItemEdit(tagChange: TagChange(added: ["a"])), of: [1]),
        Case(
            "a later edit that was delivered", [capture(1, "A", ["a"]), edit(2, "E", ["e"], is: .delivered)],
            on: ItemEdit(title: "E", tags: ["e"]), settled: [1]),
        Case(
            "a title that others have changed since", [capture(1, "A", ["s"]), edit(2, "E", is: .delivered)],
            on: ItemEdit(title: "Theirs", tags: ["s"]), settled: [1]),
        Case(
            "a later edit that waits says the title, and can still be dropped",
            [capture(1, "A", ["a"]), edit(2, "E", is: .open)], on: scraped,
            follows: ItemEdit(tagChange: TagChange(added: ["a"])), of: [1]),
        Case(
            "a later edit that waits replaces tags", [capture(1, nil, ["a"]), edit(2, nil, ["e"], is: .open)],
            on: scraped),
        Case(
            "tags come after an earlier edit that waits", [edit(1, nil, ["e"], is: .open), capture(2, nil, ["s"])],
            on: scraped, follows: ItemEdit(tagChange: TagChange(added: ["s"])), of: [2]),
        Case(
            "a tag that was taken away since does not follow",
            [capture(1, nil, ["a", "b"]), edit(2, removes: ["a"], is: .delivered)], on: scraped,
            follows: ItemEdit(tagChange: TagChange(added: ["b"])), of: [1]),
        Case(
            "a tag that a waiting edit adds need not follow",
            [capture(1, nil, ["a"]), edit(2, adds: ["a"], is: .open)], on: scraped),
        Case(
            "a tag that was asked for again after a waiting edit takes it away",
            [capture(1, nil, ["s"]), edit(2, removes: ["s"], is: .open), capture(3, nil, ["s"])], on: scraped,
            follows: ItemEdit(tagChange: TagChange(added: ["s"])), of: [3], settled: [1]),
        Case(
            "an edit that was sent while the item was in process", [capture(1, "A"), edit(2, "E", is: .unverified)],
            on: scraped, follows: ItemEdit(title: "E"), of: [2], settled: [1]),
        Case(
            "a remark for an item without a summary", [capture(1, remark: "R")], on: scraped,
            follows: ItemEdit(summary: "R"), of: [1]),
        Case(
            "a remark is no edit of a summary", [edit(1, summary: "S", is: .delivered), capture(2, remark: "R")],
            on: ItemEdit(title: "T", summary: "S"), settled: [2]),
    ]

    @Test(arguments: cases)
    func whatFollowsIsTheWishWithoutWhatTheServerHas(_ one: Case) {
        let wish = Wish(words: one.words)
        #expect(wish.lacking(in: one.theirs) == one.lacking)
        #expect(wish.settled(in: one.theirs) == one.settled)
    }
}
