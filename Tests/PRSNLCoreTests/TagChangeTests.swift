import TestSupport
import Testing

@testable import PRSNLCore

@Suite struct TagChangeTests {
    private let change = TagChange(added: ["a"], removed: ["b"])

    @Test func itLeavesOtherTagsAlone() {
        #expect(change.applied(to: ["b", "z"]) == ["a", "z"])
        #expect(change.isDone(in: ["z", "a"]) && !change.isDone(in: ["a", "b"]))
        #expect(TagChange().applied(to: ["z", "a"]) == ["z", "a"])
    }

    /// Whatever two edits say, and whatever the item has: one in their place does the same.
    @Test func oneInPlaceOfTwoDoesTheSame() {
        var random = SeededRandom("TagChangeTests")
        func some() -> [String] { ["a", "b", "c"].filter { _ in Bool.random(using: &random) } }
        func edit() -> ItemEdit {
            if Int.random(in: 0..<4, using: &random) == 0 { return ItemEdit(tags: some()) }
            let added = some()
            return ItemEdit(tagChange: TagChange(added: added, removed: some().filter { !added.contains($0) }))
        }
        for _ in 0..<500 {
            let (there, first, second) = (some(), edit(), edit())
            let between = first.resolved(with: there).tags ?? there
            let after = second.resolved(with: between).tags ?? between
            let both = first.overlaid(by: second).resolved(with: there).tags ?? there
            #expect(Tags.areSame(both, after), "\(there) \(first) \(second)")
        }
    }

    @Test func anEditThatBecameAPartIsFound() {
        let whole = ItemEdit(title: "T", tags: ["a", "c"])
        #expect(
            whole.contains(ItemEdit(tagChange: change))
                && !whole.contains(ItemEdit(tagChange: TagChange(removed: ["c"]))))
        let two = ItemEdit(tagChange: TagChange(added: ["a", "c"], removed: ["b"]))
        #expect(
            two.contains(ItemEdit(tagChange: change)) && !two.contains(ItemEdit(tagChange: TagChange(added: ["z"]))))
    }

    @Test func itsJSONSaysWhatItAddsAndRemoves() throws {
        let edit = ItemEdit(title: "T", tagChange: change)
        #expect(edit.fields.json == #"{"title":"T","add_tags":["a"],"remove_tags":["b"]}"#)
        #expect(try ItemEdit(edit.fields) == edit)
        let both = try #require(JSONFields(json: #"{"tags":["a"],"add_tags":["b"]}"#))
        #expect(throws: JSONFields.Failure.self) { try ItemEdit(both) }
    }

    @Test func whatServersDoNotTakeIsRefused() {
        func refusal(_ change: TagChange) -> String? {
            do throws(UserFacingError) {
                _ = try WriteDraft.edit(item: "i", ItemEdit(tagChange: change)).checked(dialect: .cursor)
                return nil
            } catch {
                return error.message
            }
        }
        #expect(refusal(change) == nil && refusal(TagChange(removed: ["Any TAG"])) == nil)
        #expect(refusal(TagChange(added: ["a"], removed: ["a"])) == #"tags: "a" is to be added and to be removed."#)
        #expect(refusal(TagChange(added: ["ä"]))?.hasPrefix("The tag \"ä\" was refused") == true)
        #expect(refusal(TagChange(removed: [""])) == "tags: a tag to be removed is empty.")
    }
}
