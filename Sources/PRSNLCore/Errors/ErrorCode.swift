import Glibc

/// The stable names of everything that can go wrong. docs/errors.md lists each with its causes. A test holds the two
/// together. Distinct codes for what has distinct cures.
package enum ErrorCode: String, Sendable, Codable, CaseIterable {
    // Configuration.
    case configInvalid = "config_invalid"
    case configUnreadable = "config_unreadable"
    case noServer = "no_server"
    case badServerURL = "bad_server_url"
    case insecureServerURL = "insecure_server_url"
    case keyFileUnreadable = "key_file_unreadable"
    case keyFileExposed = "key_file_exposed"
    case keyFileInvalid = "key_file_invalid"
    case credentialsConflict = "credentials_conflict"
    case loginFileUnreadable = "login_file_unreadable"
    case loginNotStored = "login_not_stored"
    case loginOtherServer = "login_other_server"
    case loginNotPossible = "login_not_possible"

    // The server's answers.
    case unauthorized
    case forbidden
    case needsLogin = "needs_login"
    case loginExpired = "login_expired"
    case loginFailed = "login_failed"
    case notFound = "not_found"
    case invalidInput = "invalid_input"
    case conflict
    case rateLimited = "rate_limited"
    case serverError = "server_error"
    case serviceUnavailable = "service_unavailable"
    case unexpectedStatus = "unexpected_status"
    case redirectRefused = "redirect_refused"
    case portal
    case unexpectedShape = "unexpected_shape"
    case staleAnswer = "stale_answer"

    // The route to the server.
    case offline
    case nameNotResolved = "name_not_resolved"
    case connectFailed = "connect_failed"
    case tlsFailed = "tls_failed"
    case timedOut = "timed_out"
    case cutOff = "cut_off"
    case answerTooLarge = "answer_too_large"
    case cancelled

    // The copy.
    case databaseLocked = "database_locked"
    case databaseBusy = "database_busy"
    case otherApplication = "other_application"
    case newerSchema = "newer_schema"
    case notADatabase = "not_a_database"
    case databaseDamaged = "database_damaged"
    case databaseReplaced = "database_replaced"
    case databaseRestored = "database_restored"
    case databaseLinked = "database_linked"
    case databaseReadOnly = "database_read_only"
    case databaseUnreadable = "database_unreadable"
    case databaseOnNetwork = "database_on_network"
    case noDatabase = "no_database"
    case diskFull = "disk_full"
    case diskError = "disk_error"
    case storeBug = "store_bug"

    // The pull.
    case accountChanged = "account_changed"
    case serverChanged = "server_changed"
    case nothingToAccept = "nothing_to_accept"
    case dialectUnknown = "dialect_unknown"
    case pageContradictory = "page_contradictory"
    case timelineUnsettled = "timeline_unsettled"
    case deletionsHeld = "deletions_held"
    case deletionUndecided = "deletion_undecided"
    case crowdedInstant = "crowded_instant"
    case itemsRejected = "items_rejected"

    // The texts.
    case textTooLarge = "text_too_large"
    case textNotFound = "text_not_found"
    case textsUnavailable = "texts_unavailable"

    // Finding.
    case noSearchIndex = "no_search_index"
    case noURL = "no_url"
    case changesUnavailable = "changes_unavailable"
    case changesMissed = "changes_missed"

    // The outbox.
    case writeInvalid = "write_invalid"
    case itemUnknown = "item_unknown"
    case itemAmbiguous = "item_ambiguous"
    case entryUnknown = "entry_unknown"
    case entryNotChangeable = "entry_not_changeable"
    case editorFailed = "editor_failed"
    case notOwner = "not_owner"
    case editConflict = "edit_conflict"
    case itemGone = "item_gone"
    case captureGone = "capture_gone"
    case outcomeUndecidable = "outcome_undecidable"
    case writeTooOld = "write_too_old"

    // The export.
    case exportFolder = "export_folder"
    case exportMismatch = "export_mismatch"
    case importUnreadable = "import_unreadable"
    case libraryMissing = "library_missing"

    // The machine.
    case limitReached = "limit_reached"

    // The command line and the control socket.
    case usage
    case daemonNotRunning = "daemon_not_running"
    case daemonElsewhere = "daemon_elsewhere"
    case daemonBusy = "daemon_busy"
    case controlRefused = "control_refused"
    case controlProtocol = "control_protocol"
    case controlSocketTaken = "control_socket_taken"
    case controlSocketFailed = "control_socket_failed"

    /// The code of a system call that has failed with `errno`: `limit_reached` where this process, or the machine, may open no
    /// more files (EMFILE, ENFILE), so that this is not taken for a wrong path or a wrong mode.
    ///
    /// - Parameter other: what any other failure of the call means.
    package static func of(errno number: Int32, otherwise other: ErrorCode) -> ErrorCode {
        number == EMFILE || number == ENFILE ? .limitReached : other
    }

    package var traits: ErrorTraits { ErrorTraits.table[self] ?? .unknown }
    package var heading: String { traits.heading.rawValue }
    package var recoverySuggestion: Advice { traits.suggestion }
    package var nextCommand: NextCommand? { traits.command }
    package var needsPerson: Bool { traits.flags.contains(.needsPerson) }
}
