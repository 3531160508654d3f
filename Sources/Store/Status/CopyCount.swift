package import PRSNLCore

/// A number of the file that the status shows as it is. Its entry in `all` is all of it: its member of `copy` in the JSON, its row
/// in `prsnlctl status`, its metric, and what `doctor` says of it.
package struct CopyCount: Sendable {
    /// The member of `copy`. The metric is called like it, in Prometheus' spelling.
    package let name: String
    /// Says it in milliseconds, also for a million items.
    let query: String
    /// Of the row, which there is for more than none: `2 items that could not be read`.
    package let label: String
    package let noun: String
    package let text: String
    /// What the metric is; `nil` for a number that is a part of another one.
    package var help: String? = nil
    /// The check of `doctor` that warns of more than none, and what to do.
    package var check: String? = nil
    package var cure: Advice? = nil

    package static let all = [
        CopyCount(
            name: "rejected", query: "SELECT count(*) FROM rejected_item", label: "Missing", noun: "item",
            text: "that could not be read; see the table rejected_item", check: "dialect",
            cure: "The copy lacks these; docs/errors.md (items_rejected)."),
        CopyCount(
            name: "suspects", query: "SELECT count(*) FROM item WHERE missing_since IS NOT NULL", label: "Unsettled",
            noun: "item", text: "gone from the server's list, deletion not yet proven"),
    ]
}
