import PRSNLCore

/// What an entry says of the answers to it.
extension UserFacingError {
    static let itemGone = UserFacingError(
        .itemGone, "The item is no longer on the server.", consequence: "The edit is parked.")
    static let editConflict = UserFacingError(
        .editConflict, "The item was changed elsewhere after the edit was made here.",
        consequence: "The server's values were not overwritten.")
    static let thereUnderNoID = UserFacingError(
        .conflict, "The server has this URL already and does not say under which id.",
        consequence: "Title, tags and remark are kept here; try again when the item was pulled.")
    static let existsSomewhere = UserFacingError(
        .conflict, "The server has this URL already; under which id is not known yet.",
        consequence: "The write is not sent again; title and tags follow when the item is found.")
    static let undecidable = UserFacingError(
        .outcomeUndecidable, "Could not determine whether the server applied this write.",
        consequence: "It is parked so that it is not sent twice.")

    static func behind(_ deletion: Int64) -> UserFacingError {
        UserFacingError(
            .conflict, "The server still has the item of this URL, which #\(deletion) is to delete.",
            consequence: "The write is sent after that.")
    }
}
