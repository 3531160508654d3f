import CSQLite
import PRSNLCore

/// What items were before a transaction, to be compared with what they are at its end: so a change is one row, however many
/// tables it takes, and from wherever it comes.
///
/// Triggers call for it before each row is touched. They are the store's own (`TEMP`) and stand in no file. They are short, because
/// SQLite compiles them into each statement.
final class ChangeNotes {
    private unowned let connection: Connection
    private var items: [ByteText: (wasKnown: Bool, was: String?)] = [:]
    private var texts: [ByteText: String?] = [:]
    /// Creations that were delivered: the local id, and the one that the server has given. The same twice where it does not say.
    private var creations: [(local: ByteText, id: ByteText)] = []

    private enum Kind: Int {
        case item, insertedItem, text, firstText, creation
    }

    private static let text = "SELECT text_mark(content, transcription) FROM item_text WHERE item_id = ?1"

    /// Notes changes from now on.
    ///
    /// - Returns: `nil` where the first pull has not ended.
    static func begin(_ connection: Connection) throws -> ChangeNotes? {
        guard try connection.integer("SELECT items_before IS NOT NULL FROM change_state") == 1 else { return nil }
        try connection.registerTextMark()
        let notes = ChangeNotes(connection)
        try connection.register("change_note", count: -1, notes) { context, count, values in
            let notes = Unmanaged<ChangeNotes>.fromOpaque(sqlite3_user_data(context)).takeUnretainedValue()
            guard let values, let kind = Kind(rawValue: Int(sqlite3_value_int(values[0]))),
                let item = Connection.text(values[1])
            else { return }
            do {
                try notes.note(kind, item)
                guard count == 3, let identified = Connection.text(values[2]) else { return }
                try notes.note(.item, identified)
                notes.creations.append((ByteText(item), ByteText(identified)))
            } catch {
                sqlite3_result_error(context, (error as? SQLiteFailure)?.message ?? "\(error)", -1)
            }
        }
        // No file for what has no rows.
        try connection.execute("PRAGMA temp_store = MEMORY;" + triggers)
        return notes
    }

    private init(_ connection: Connection) { self.connection = connection }

    // MARK: Triggers

    private static func trigger(
        _ event: String, _ table: String, when condition: String = "1", _ kind: Kind, _ ids: String...
    ) -> String {
        """
        CREATE TEMP TRIGGER "change: \(kind) \(event.prefix(20)) \(table)" \(event) ON main.\(table) WHEN \(condition) BEGIN
            \(ids.map { "SELECT change_note(\(kind.rawValue), \($0));" }.joined(separator: " "))
        END;

        """
    }

    private static func triggers(_ table: String, id: String) -> String {
        trigger("BEFORE INSERT", table, .item, "new.\(id)") + trigger("BEFORE DELETE", table, .item, "old.\(id)")
            + trigger("BEFORE UPDATE", table, .item, "old.\(id)", "new.\(id)")
    }

    /// The first text of an item that came with the first pull is a part of that. So it costs nothing.
    private static let isOfNewItem = """
        EXISTS (SELECT 1 FROM item_body WHERE item_id = new.item_id)
            OR (SELECT rowid FROM item WHERE id = new.item_id) > (SELECT items_before FROM change_state)
        """

    private static let triggers: String = {
        let columns = (["id", "deleted_at"] + ChangeLog.names.filter { $0 != "pending" }).joined(separator: ", ")
        // An item that is there already is not inserted, which only an AFTER trigger knows.
        return trigger("AFTER INSERT", "item", .insertedItem, "new.id")
            + trigger("AFTER INSERT", "item", when: "new.content IS NOT NULL", .firstText, "new.id")
            + trigger("BEFORE DELETE", "item", when: "old.deleted_at IS NULL", .item, "old.id")
            + trigger("BEFORE UPDATE OF \(columns)", "item", .item, "new.id")
            + trigger("BEFORE UPDATE OF content", "item", .text, "new.id")
            + trigger("BEFORE INSERT", "item_body", when: isOfNewItem, .text, "new.item_id")
            + trigger("BEFORE DELETE", "item_body", .text, "old.item_id")
            + trigger("BEFORE UPDATE", "item_body", .text, "new.item_id")
            + triggers("local_item", id: "id") + triggers("local_edit", id: "item_id")
            + triggers("held_item", id: "item_id")
            + trigger(
                "BEFORE UPDATE OF state", "outbox",
                when: "new.state = 'delivered' AND old.state != 'delivered' AND old.kind IN ('capture', 'note')",
                .creation,
                "old.item_id, new.item_id")
    }()

    // MARK: In a transaction

    /// Before the first statement.
    func forget() {
        if !items.isEmpty { items = [:] }
        if !texts.isEmpty { texts = [:] }
        creations = []
    }

    /// Once for each.
    private func note(_ kind: Kind, _ id: String) throws {
        let key = ByteText(id)
        switch kind {
        case .item where items[key] == nil, .creation where items[key] == nil:
            let isKnown = try connection.cached("SELECT 1 FROM item WHERE id = ?").bind(id).hasRow()
            items[key] = (isKnown, try one(ChangeLog.shown, id))
        case .insertedItem where items[key] == nil: items[key] = (false, try one(ChangeLog.created, id))
        case .text where texts[key] == nil: texts[key] = .some(try one(Self.text, id))
        case .firstText where texts[key] == nil: texts[key] = .some(nil)
        default: break
        }
    }

    private func one(_ sql: String, _ id: String) throws -> String? {
        let statement = try connection.cached(sql).bind(id)
        defer { statement.reset() }
        return try statement.first { $0.text(0) } ?? nil
    }

    /// What it has changed, before it is committed.
    ///
    /// - Returns: how many rows were written.
    func save(_ origin: ChangeOrigin) throws -> Int {
        guard !items.isEmpty || !texts.isEmpty else { return 0 }
        defer { forget() }
        var changes: [ChangeLog.Change] = []
        for (local, id) in creations {
            guard let was = items[local]?.was, try one(ChangeLog.shown, local.text) == nil else { continue }
            let isKnown = id != local
            let new = isKnown ? #"{"id":\#(JSONText.string(id.text))}"# : nil
            changes.append((local.text, "identified", try difference(was, nil).0, new))
            items[local] = nil
            if isKnown, items[id]?.was == nil { items[id] = (true, was) }
        }
        for (id, item) in items.sorted(by: { $0.key < $1.key }) {
            let new = try one(ChangeLog.shown, id.text)
            guard item.was != new else { continue }
            let kind =
                item.was == nil ? (item.wasKnown ? "restored" : "added") : new == nil ? "deleted" : "edited"
            let (old, changed) = try difference(item.was, new)
            changes.append((id.text, kind, old, changed))
        }
        for (id, was) in texts.sorted(by: { $0.key < $1.key }) {
            let new = try one(Self.text, id.text)
            guard was != new, try one(ChangeLog.shown, id.text) != nil else { continue }
            changes.append((id.text, "text", was, new))
        }
        for change in changes { try ChangeLog.insert(connection, change, origin) }
        return changes.count
    }

    /// Members that are the same in both are left out, and, where there is one side only, those that are NULL. Not by SQLite's
    /// functions: in 3.40, these end a text at U+0000.
    private func difference(_ old: String?, _ new: String?) throws -> (String?, String?) {
        let (before, after) = (try old.map(Self.members), try new.map(Self.members))
        func object(_ all: Members?, without other: Members?) -> String? {
            guard let all else { return nil }
            let others = other.map { Dictionary($0.map { ($0.name, $0.value) }) { $1 } }
            let members = all.filter { name, value in
                if let others { others[name] != value } else { !value.elementsEqual("null".utf8) }
            }
            return "{" + members.map { "\"\($0)\":" + String(decoding: $1, as: UTF8.self) }.joined(separator: ",") + "}"
        }
        return (object(before, without: after), object(after, without: before))
    }

    /// Those of an object that are texts.
    static func texts(_ json: String) throws -> [String: String] {
        var texts: [String: String] = [:]
        for (name, value) in try members(json) where value.first == UInt8(ascii: "\"") {
            texts[name] = try? JSONReader.read(Array(value)) { try $0.string() }
        }
        return texts
    }

    /// Of an object that SQLite has made; each value as JSON.
    private typealias Members = [(name: String, value: ArraySlice<UInt8>)]

    private static func members(_ json: String) throws -> Members {
        let bytes = Array(json.utf8)
        do {
            return try JSONReader.read(bytes) { reader in
                var members: Members = []
                guard try reader.enterObject() else { return members }
                repeat {
                    let name = try reader.string()
                    try reader.colon()
                    members.append((name, bytes[try reader.skip()]))
                } while try reader.nextMember()
                return members
            }
        } catch {
            throw SQLiteFailure(
                code: SQLITE_CORRUPT, message: "what an item is cannot be read: \(error)", operation: "changes")
        }
    }
}
