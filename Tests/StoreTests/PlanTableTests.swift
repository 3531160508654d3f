import PRSNLCore
import Testing

@testable import Store

/// The policy, a row for each rule: what was asked for, what is known, what the server has, and the one step that follows.
@Suite struct PlanTableTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var asks: [Intent.Ask]
        /// What the person saw.
        var seen: ItemEdit? = Self.there
        var target = Target(.known(wasThereAt: nil))
        /// `nil` where nothing was read since the last send.
        var reading: ItemEdit? = Self.there
        var isProcessed = true
        var step: Step

        static let there = ItemEdit(title: "Seen", summary: "", tags: ["x"])
    }

    private static let now = StoreFixture.at(10_000)
    private static let interval: Duration = .seconds(600)
    private static let title = Intent.Ask.edit(ItemEdit(title: "Ours"))
    private static let adding = Intent.Ask.edit(ItemEdit(tagChange: TagChange(added: ["a"])))
    private static let theirTitle = ItemEdit(title: "Theirs", summary: "", tags: ["x"])
    private static let theirTags = ItemEdit(title: "Seen", summary: "", tags: ["f", "x"])
    private static let ourTitle = ItemEdit(title: "Ours", summary: "", tags: ["x"])

    /// - Parameter age: since it was sent, in seconds.
    private static func attempt(
        _ sent: ItemEdit, covers: Int64 = 1, age: Int = 10, _ outcome: Attempt.Outcome = .doubted
    ) -> Attempt {
        var attempt = Attempt(
            .edit, sent: sent, before: Row.there, covers: covers, sentAt: StoreFixture.at(10_000 - age))
        attempt.outcome = outcome
        return attempt
    }

    private static func known(_ attempts: Attempt..., confirmed: [ItemField: Int64] = [:]) -> Target {
        var target = Target(.known(wasThereAt: nil))
        (target.attempts, target.confirmed) = (attempts, confirmed)
        return target
    }

    private static func parked(_ field: ItemField) -> Target {
        var target = known()
        target.attention[field] = .notKept
        return target
    }

    private static func conflict(_ field: ItemField, _ theirs: ItemEdit) -> Step {
        .ask(field, .conflict(theirs: theirs))
    }

    private static let capture = Intent.Ask.create(NewItem(url: "u", note: "Remark", tags: ["a"]))
    private static let many = (1...20).map { "tag \($0)" }

    static let rows: [Row] = [
        // What is asked first.
        Row(testDescription: "nothing is asked for", asks: [], step: .settled),
        Row(testDescription: "the item is read before it is edited", asks: [title], reading: nil, step: .read),
        Row(
            testDescription: "what the server still works on is left alone", asks: [title], isProcessed: false,
            step: .wait(until: now.advanced(by: Plan.processingPause))),
        // What may be overwritten.
        Row(
            testDescription: "what the person saw", asks: [title],
            step: .edit(ItemEdit(title: "Ours"), covers: 1)),
        Row(
            testDescription: "not what another client has written", asks: [title], reading: theirTitle,
            step: conflict(.title, ItemEdit(title: "Theirs"))),
        Row(
            testDescription: "anything, where there was nothing to see", asks: [title], seen: nil, reading: theirTitle,
            step: .edit(ItemEdit(title: "Ours"), covers: 1)),
        Row(
            testDescription: "a placeholder", asks: [title], reading: ItemEdit(title: "Untitled", tags: ["x"]),
            step: .edit(ItemEdit(title: "Ours"), covers: 1)),
        Row(
            testDescription: "a change of tags is applied to what others have made of the list", asks: [adding],
            reading: theirTags, step: .edit(ItemEdit(tags: ["a", "f", "x"]), covers: 1)),
        Row(
            testDescription: "a list in place of all asks about tags that nobody saw",
            asks: [.edit(ItemEdit(tags: ["k"]))], reading: theirTags,
            step: conflict(.tags, ItemEdit(tags: ["f", "x"]))),
        Row(
            testDescription: "one field in conflict holds up no other", asks: [title, adding], target: parked(.title),
            reading: theirTitle, step: .edit(ItemEdit(tags: ["a", "x"]), covers: 2)),
        // What is confirmed, and when.
        Row(testDescription: "what the server has", asks: [title], reading: ourTitle, step: .confirm(.title, 1)),
        Row(
            testDescription: "not while a request without an answer can still change it", asks: [title],
            target: known(attempt(ItemEdit(title: "Ours"))), reading: ourTitle,
            step: .wait(until: now.advanced(by: .seconds(590)))),
        Row(
            testDescription: "from then on it is", asks: [title],
            target: known(attempt(ItemEdit(title: "Ours"), age: 600)), reading: ourTitle, step: .confirm(.title, 1)),
        Row(
            testDescription: "what is confirmed belongs to others again", asks: [title],
            target: known(confirmed: [.title: 1]), reading: theirTitle, step: .settled),
        Row(
            testDescription: "what the server made of it", asks: [.edit(ItemEdit(title: "Ours  ours"))],
            target: known(attempt(ItemEdit(title: "Ours  ours"), .applied)),
            reading: ItemEdit(title: "Ours ours", tags: ["x"]), step: .confirm(.title, 1)),
        Row(
            testDescription: "but white space alone is an edit", asks: [.edit(ItemEdit(title: "Seen "))],
            step: .edit(ItemEdit(title: "Seen "), covers: 1)),
        Row(
            testDescription: "tags in lower case", asks: [.edit(ItemEdit(tagChange: TagChange(added: ["Big"])))],
            target: known(attempt(ItemEdit(tags: ["Big", "x"]), .applied)),
            reading: ItemEdit(title: "Seen", tags: ["big", "x"]),
            step: .confirm(.tags, 1)),
        // After a lost answer.
        Row(
            testDescription: "what was not applied is sent again", asks: [title],
            target: known(attempt(ItemEdit(title: "Ours"))), step: .edit(ItemEdit(title: "Ours"), covers: 1)),
        Row(
            testDescription: "what an earlier request of ours has undone is sent again",
            asks: [title, .edit(ItemEdit(title: "Newer"))],
            target: known(attempt(ItemEdit(title: "Ours")), attempt(ItemEdit(title: "Newer"), covers: 2, .applied)),
            reading: ourTitle, step: .edit(ItemEdit(title: "Newer"), covers: 2)),
        Row(
            testDescription: "a late list of tags without the newer one",
            asks: [adding, .edit(ItemEdit(tagChange: TagChange(added: ["b"])))],
            target: known(
                attempt(ItemEdit(tags: ["a", "x"])), attempt(ItemEdit(tags: ["a", "b", "x"]), covers: 2, .applied)),
            reading: ItemEdit(title: "Seen", tags: ["a", "x"]), step: .edit(ItemEdit(tags: ["a", "b", "x"]), covers: 2)),
        Row(
            testDescription: "another client's value is looked at once more when nothing can come", asks: [title],
            target: known(attempt(ItemEdit(title: "Ours"))), reading: theirTitle,
            step: .wait(until: now.advanced(by: .seconds(590)))),
        Row(
            testDescription: "and then asked about", asks: [title],
            target: known(attempt(ItemEdit(title: "Ours"), age: 601)), reading: theirTitle,
            step: conflict(.title, ItemEdit(title: "Theirs"))),
        Row(
            testDescription: "a removal of what was added is pursued while the addition can still arrive",
            asks: [adding, .edit(ItemEdit(tagChange: TagChange(removed: ["a"])))],
            target: known(attempt(ItemEdit(tags: ["a", "x"]))), step: .wait(until: now.advanced(by: .seconds(590)))),
        // What ends in a person's hands.
        Row(
            testDescription: "a server that answers and does not keep it", asks: [title],
            target: {
                var target = known()
                target.attempts = (1...Plan.mostTries).map { _ in attempt(ItemEdit(title: "Ours"), .applied) }
                return target
            }(), step: .ask(.title, .notKept)),
        Row(
            testDescription: "more tags than an item may have, with those of others", asks: [adding],
            reading: ItemEdit(title: "Seen", tags: many), step: .ask(.tags, .tooManyTags)),
        Row(testDescription: "the item is gone", asks: [title], target: Target(.gone), step: .ask(.title, .gone)),
        // Deletions.
        Row(testDescription: "a deletion", asks: [title, .delete], reading: nil, step: .delete(covers: 2)),
        Row(testDescription: "of what is gone", asks: [.delete], target: Target(.gone), step: .settled),
        Row(
            testDescription: "of what was never sent", asks: [capture, .delete], target: Target(.unsent), step: .settled
        ),
        Row(
            testDescription: "of a capture whose item was there before: not meant", asks: [capture, .delete],
            target: Target(.known(wasThereAt: 2)), step: .withdraw(upTo: 2)),
        Row(
            testDescription: "asked for when that was known: meant", asks: [capture, .delete],
            target: Target(.known(wasThereAt: 1)), step: .delete(covers: 2)),
        // Creations.
        Row(
            testDescription: "a creation is made with all that was asked for since",
            asks: [capture, title, .edit(ItemEdit(tagChange: TagChange(added: ["b"], removed: ["a"])))],
            target: Target(.unsent),
            step: .create(NewItem(url: "u", title: "Ours", note: "Remark", tags: ["b"]), covers: 3)),
        Row(
            testDescription: "one that may have been applied is looked for", asks: [capture],
            target: Target(.doubted(absentSince: nil)), step: .lookUp),
        Row(
            testDescription: "and once more, when a late one must have arrived", asks: [capture],
            target: Target(.doubted(absentSince: StoreFixture.at(9_990))),
            step: .wait(until: now.advanced(by: .seconds(590)))),
        Row(
            testDescription: "a remark becomes the summary of an item that has none", asks: [capture],
            target: Target(.known(wasThereAt: 1)),
            step: .edit(ItemEdit(summary: "Remark", tags: ["a", "x"]), covers: 1)),
        Row(
            testDescription: "and of no other", asks: [.create(NewItem(url: "u", note: "Remark"))],
            target: Target(.known(wasThereAt: 1)), reading: ItemEdit(title: "Seen", summary: "Theirs", tags: ["x"]),
            step: .confirm(.summary, 1)),
        Row(
            testDescription: "with a creation it went along", asks: [.create(NewItem(url: "u", note: "Remark"))],
            step: .settled),
    ]

    @Test(arguments: rows)
    func eachRuleHasItsStep(_ row: Row) {
        let intents = row.asks.enumerated().map { index, ask in
            Intent(number: Int64(index + 1), command: 1, ask: ask, seen: row.seen)
        }
        let reading = row.reading.map { Reading($0, isProcessed: row.isProcessed, at: Self.now) }
        let desired = Desired(intents, after: row.target.confirmed)
        let plan = Plan(desired, row.target, reading, now: Self.now, interval: Self.interval)
        #expect(plan.next() == row.step)
    }

    @Test func whatMayHaveReachedTheServerCannotBeTakenBack() {
        let intents = [Self.title, Self.adding, .edit(ItemEdit(title: "Newer"))].enumerated().map { index, ask in
            Intent(number: Int64(index + 1), command: Int64(index + 1), ask: ask)
        }
        let target = Self.known(Self.attempt(ItemEdit(title: "Ours"), covers: 2))
        #expect(intents.map(target.covers) == [true, false, false], "the tags were not in that request")
    }
}
