import PRSNLCore
import TestSupport
import Testing

@testable import Store

/// A request that is made again, because its answer was lost, is the same write.
@Suite struct RequestKeyTests {
    let fixture = StoreFixture()
    let now = StoreFixture.at(5_000)

    private func accept(
        _ store: Store, _ draft: WriteDraft, _ key: RequestKey, at time: Timestamp? = nil
    ) async throws -> AcceptedWrite {
        switch try await store.accept([WriteRequest(draft, key: key)], now: time ?? now)[0] {
        case .accepted(let write): return write
        case .refused(let error): throw error
        }
    }

    private func key() -> RequestKey { RequestKey.make(at: now) }

    @Test func eachKindOfWriteThatIsAskedForAgainIsAnsweredWithItsEntry() async throws {
        let store = try fixture.open()
        try await store.commit(StoreFixture.page([StoreFixture.item(1), StoreFixture.item(2), StoreFixture.item(3)]))
        let note = try await accept(store, .create(NewItem(note: "a note", tags: ["b", "a", "b"])), key())
        _ = try await accept(store, .edit(item: "item-1", ItemEdit(summary: "S")), key())
        _ = try await accept(store, .edit(item: "item-2", ItemEdit(title: "T")), key())
        let drafts: [WriteDraft] = [
            .create(NewItem(url: "https://example.org/", tags: ["b", "a", "b"])), .create(NewItem(note: "a note")),
            .edit(item: note.itemID, ItemEdit(title: "Of what was never sent")),
            .edit(item: "item-1", ItemEdit(title: "Together with the first")), .delete(item: "item-2"),
            .delete(item: "item-3"),
        ]
        for draft in drafts {
            let key = key()
            let first = try await accept(store, draft, key)
            // Also with a clock that was set back, and by a process that opens the file later.
            let again = try await accept(store, draft, key, at: StoreFixture.at(-1_000_000_000))
            #expect(again == first, "\(draft)")
        }
        #expect(try fixture.query("SELECT count(*), max(id) FROM outbox") == "9")
        #expect(try fixture.query("SELECT waiting FROM sync_state") == "9")
        await store.close()
    }

    @Test func equalWritesWithKeysOfTheirOwnAreTwo() async throws {
        let store = try fixture.open()
        let draft = WriteDraft.create(NewItem(note: "the same"))
        let results = try await store.accept(
            [WriteRequest(draft, key: key()), WriteRequest(draft, key: key()), WriteRequest(draft)], now: now)
        let third = try await store.accept([draft], now: now)
        #expect((results + third).map(entry) == [1, 2, 3, 4])
        await store.close()
    }

    @Test func aKeyThatIsThereTwiceInOneRequestIsOneWrite() async throws {
        let store = try fixture.open()
        let request = WriteRequest(.create(NewItem(note: "the same")), key: key())
        #expect(try await store.accept([request, request], now: now).map(entry) == [1, 1])
        await store.close()
    }

    @Test func theKeyOfAnotherWriteIsRefusedRatherThanLosingAWrite() async throws {
        let store = try fixture.open()
        let key = key()
        _ = try await accept(store, .create(NewItem(note: "one")), key)
        for other in [
            WriteDraft.create(NewItem(note: "two")), .create(NewItem(url: "https://example.org")), .delete(item: "x"),
        ] {
            #expect(try await errorCode { _ = try await accept(store, other, key) } == .conflict)
        }
        await store.close()
    }

    @Test func whatWasDeliveredMeanwhileIsAnsweredAsDeliveredAndNotJudgedAgain() async throws {
        let store = try fixture.open()
        try await store.commit(StoreFixture.page([StoreFixture.item(1)]))
        let keys = [key(), key()]
        _ = try await accept(store, .create(NewItem(note: "a note")), keys[0])
        _ = try await accept(store, .delete(item: "item-1"), keys[1])
        for (id, serverID) in [(Int64(1), "new"), (2, nil)] {
            #expect(try await store.beginSending(id, evidence: nil, now: now))
            try await store.record(id, .delivered(WriteOutcome.Delivery(serverID: serverID)), now: now)
        }
        let note = try await accept(store, .create(NewItem(note: "a note")), keys[0])
        #expect(note.state == .delivered && note.itemID == "new")
        // The item is gone: a second deletion would be refused.
        #expect(try await accept(store, .delete(item: "item-1"), keys[1]).entry == 2)
        await store.close()
    }

    @Test func aKeyIsKnownAsLongAsItsEntryIsKept() async throws {
        let store = try fixture.open()
        let key = key()
        #expect(try await accept(store, .create(NewItem(note: "a note")), key).entry == 1)
        _ = try await store.drop([1], withDependents: false, dryRun: false, now: now)
        #expect(try await accept(store, .create(NewItem(note: "a note")), key).state == .dropped)
        try await store.purgeOutbox(endedBefore: now.advanced(by: .seconds(1)))
        #expect(try await accept(store, .create(NewItem(note: "a note")), key).entry == 2)
        await store.close()
    }

    @Test(arguments: [
        ("0123456789abcde", false), ("0123456789abcdef", true), (String(repeating: "x", count: 64), true),
        (String(repeating: "x", count: 65), false), ("0123456789abcde é", false), ("0123456789abcde'", false),
        ("AZaz09-_AZaz09-_", true),
    ])
    func keysAreShortTextsOfHarmlessCharacters(text: String, isKey: Bool) {
        #expect((RequestKey(text) != nil) == isKey)
    }

    @Test func keysThatAreMadeAreKeysAndGrowWithTime() throws {
        let keys = (0..<100).map { RequestKey.make(at: StoreFixture.at($0)).text }
        #expect(keys.sorted() == keys && Set(keys).count == 100)
        #expect(keys.allSatisfy { RequestKey($0) != nil })
    }

    private func entry(_ acceptance: Acceptance) -> Int64? {
        if case .accepted(let write) = acceptance { write.entry } else { nil }
    }
}
