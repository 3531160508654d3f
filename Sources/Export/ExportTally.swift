/// What an export did.
package struct ExportTally: Sendable, Equatable {
    /// Live items, or lines of JSON.
    package var items = 0
    /// Files that were written, new ones and changed ones.
    package var written = 0
    package var unchanged = 0
    /// Files of deleted items that were removed.
    package var removed = 0
    /// Files of deleted items that a person had changed: they are in `.deleted` now.
    package var moved = 0
    /// Of those written, the ones that a person had changed above the marker: the old files are in `.replaced`.
    package var replaced = 0
    /// Files of items that the copy lacks, and of which it does not know yet whether they were deleted.
    package var kept = 0
    /// Files that were being changed by another program all the time.
    package var busy = 0

    package init() {}
}
