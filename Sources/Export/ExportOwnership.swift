import PRSNLCore

/// Whether a folder holds the export of this very copy. Of another one, all files would be those of deleted items.
enum ExportOwnership {
    /// - Parameter former: whose items are there; `nil` in a new folder.
    static func check(
        _ former: ManifestText.Origin?, _ now: ManifestText.Origin, _ path: String
    ) throws(UserFacingError) {
        guard let former else { return }
        if let server = former.serverURL, server != now.serverURL {
            throw mismatch(path, "the items of \(SafeText.harmless(server))", now.serverURL)
        }
        if former.serverURL != nil, former.accountID != now.accountID {
            throw mismatch(path, "the items of another account", now.accountID)
        }
    }

    static func isEmpty(_ path: String) -> UserFacingError {
        UserFacingError(
            .exportMismatch, "The copy has no items, and \(path) has files of some.", consequence: unchanged,
            recoverySuggestion: """
                Look at `prsnlctl status`: the copy may be a new one. If all items were deleted on purpose, move the \
                folder away; it has your notes.
                """)
    }

    private static func mismatch(_ path: String, _ what: String, _ now: String?) -> UserFacingError {
        UserFacingError(
            .exportMismatch,
            "\(path) holds \(what), and this copy is of \(now.map { SafeText.harmless($0) } ?? "no server yet").",
            consequence: unchanged)
    }

    private static let unchanged = "No file was touched."
}
