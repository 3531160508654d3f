/// Step 4: what the copy had when a write was sent, and the server's clock.
///
/// `server_ahead`: microseconds by which the server's clock was ahead of ours at `new_as_of`.
///
/// `items_before`: rows of `item` up to this number were there before the send, and are not its work. Numbers grow, and none is
/// given twice: rows stay where they are (VACUUM keeps the numbers of a table with an index), and the newest is never removed.
enum KnownItems {
    static let all = [
        "ALTER TABLE outbox_attempt ADD COLUMN items_before INTEGER;",
        "ALTER TABLE copy ADD COLUMN server_ahead INTEGER;",
    ]
}
