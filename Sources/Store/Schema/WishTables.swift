/// Step 8: what was said of an item is found by its id, also after it was delivered (`Wish`).
enum WishTables {
    static let all = [itemIndex, openFollowUps]

    /// Of all entries, not only of the open ones. An entry that ends without a new item id costs the index nothing.
    private static let itemIndex = """
        DROP INDEX outbox_item;
        CREATE INDEX outbox_item ON outbox (item_id, id);
        """

    /// A creation stays unverified until its follow-up is delivered. Before, the follow-up alone knew what was asked for.
    private static let openFollowUps = """
        UPDATE outbox SET is_unverified = 1
        WHERE kind IN ('capture', 'note') AND state = 'delivered' AND item_id IN
            (SELECT item_id FROM outbox WHERE follows IS NOT NULL AND ended_at IS NULL);
        """
}
