import Glibc

/// The stable names of everything that can go wrong. docs/errors.md lists each with its causes; a test holds the two
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
    case notJSON = "not_json"
    case portal
    case emptyAnswer = "empty_answer"
    case unexpectedShape = "unexpected_shape"
    case staleAnswer = "stale_answer"

    // The way to the server.
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
    case databaseLinked = "database_linked"
    case databaseReadOnly = "database_read_only"
    case databaseUnreadable = "database_unreadable"
    case noDatabase = "no_database"
    case diskFull = "disk_full"
    case diskError = "disk_error"
    case storeBug = "store_bug"

    // The pull.
    case accountChanged = "account_changed"
    case serverChanged = "server_changed"
    case nothingToAccept = "nothing_to_accept"
    case dialectUnknown = "dialect_unknown"
    case pagesIgnored = "pages_ignored"
    case pageDisordered = "page_disordered"
    case pageContradictory = "page_contradictory"
    case timelineUnsettled = "timeline_unsettled"
    case deletionsHeld = "deletions_held"
    case deletionUndecided = "deletion_undecided"
    case crowdedInstant = "crowded_instant"
    case itemsRejected = "items_rejected"

    // The outbox.
    case writeInvalid = "write_invalid"
    case itemUnknown = "item_unknown"
    case itemAmbiguous = "item_ambiguous"
    case entryUnknown = "entry_unknown"
    case entryNotChangeable = "entry_not_changeable"
    case notOwner = "not_owner"
    case editConflict = "edit_conflict"
    case itemGone = "item_gone"
    case outcomeUndecidable = "outcome_undecidable"
    case writeTooOld = "write_too_old"

    // The machine.
    case limitReached = "limit_reached"

    // The command line and the control socket.
    case usage
    case daemonNotRunning = "daemon_not_running"
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

    /// The heading for people (docs/errors.md; the API contract's four).
    package var heading: String {
        switch self {
        case .offline, .nameNotResolved, .connectFailed, .tlsFailed, .timedOut, .cutOff, .answerTooLarge, .cancelled,
            .redirectRefused:
            "Connection error"
        case .unauthorized, .needsLogin, .loginExpired, .loginFailed: "Authentication required"
        case .rateLimited: "Slow down"
        default: "Something went wrong"
        }
    }

    /// What to do about it, where the place that throws knows nothing better.
    package var recoverySuggestion: String {
        switch self {
        case .configInvalid: "Correct it where the message says, then run `prsnld --check-config`."
        case .configUnreadable: "Check the path, and that this user may read the file."
        case .noServer:
            "Log in with `prsnlctl login --server URL`, which writes it, or set server_url in the configuration."
        case .badServerURL: "Set server_url to an address like https://prsnl.example.org."
        case .insecureServerURL:
            "Use https://, or set allow_insecure_http = true if the network in between is your own."
        case .keyFileUnreadable: "Check that api_key_file names a file that the daemon's user can read."
        case .keyFileExposed: "Run `chmod 600` on the key file."
        case .keyFileInvalid: "Put the API key or the login token on a line of its own into the key file, nothing else."
        case .credentialsConflict:
            "Remove api_key_file from the configuration (or the systemd credential `api-key`), restart the daemon, then log in again."
        case .loginFileUnreadable: "Log in again with `prsnlctl login`, which writes the file anew."
        case .loginNotStored: "Check the owner and mode of the folder that the database is in, and its disk."
        case .loginOtherServer: "Set server_url back, or log in to this server with `prsnlctl login`."
        case .loginNotPossible: "Check server_url, or use an API key: name its file with api_key_file."
        case .unauthorized:
            "Look with `prsnlctl whoami` what the server is shown: log in again, or put a valid key there, then "
                + "`systemctl restart prsnld`."
        case .forbidden: "Check what the key or the login may do, and whether a proxy before the server refuses this."
        case .needsLogin: "Log in with `prsnlctl login`; an API key in api_key_file must be removed first."
        case .loginExpired:
            "Log in again with `prsnlctl login`; a login token in api_key_file is replaced there, then `systemctl restart "
                + "prsnld`."
        case .loginFailed: "Try again; the password is the one of the server's web page."
        case .notFound: "Check server_url: it must be the address under which /api/health answers."
        case .invalidInput: "The server does not accept this request; check that server_url is a PRSNL server."
        case .conflict: "Look at the item on the server; it was changed in between."
        case .rateLimited: "Wait as long as the server asks; the daemon does so by itself."
        case .serverError: "Look at the server's log; the daemon asks again, ever less often."
        case .serviceUnavailable: "Wait; the daemon asks again when the server says so."
        case .unexpectedStatus: "Check server_url; something that is not a PRSNL server may be answering."
        case .redirectRefused: "Set server_url to the address that the server redirects to, if you trust it."
        case .notJSON, .emptyAnswer, .unexpectedShape:
            "Check server_url with `curl SERVER_URL/api/health`: a PRSNL server answers with JSON."
        case .staleAnswer: "Let the cache or proxy in front of the server pass requests for /api/ through."
        case .portal: "Log in to the network's portal with a browser, or check server_url."
        case .offline:
            "Connect this machine to the network; the daemon notices at once. `prsnlctl net` shows what it sees."
        case .nameNotResolved: "Check the host name in server_url and this machine's name servers."
        case .connectFailed: "Check that the server runs and that its port can be reached from here."
        case .tlsFailed: "Check the server's certificate and this machine's clock and CA certificates."
        case .timedOut: "Check the network; timeouts can be raised with the *_timeout keys."
        case .cutOff: "Wait; the daemon asks again by itself. If it stays so, check the address and its port."
        case .answerTooLarge: "Lower page_size, or raise max_answer_size."
        case .cancelled: "Give the command again, if it is still wanted."
        case .databaseLocked: "Stop the other process, or give this one another database."
        case .databaseBusy: "Close the program that has the file open for writing."
        case .otherApplication: "Set database to a path of its own; this file was left as it is."
        case .newerSchema:
            "Install the newer prsnld again, or set database to another path. This file was left as it is."
        case .notADatabase: "Set database to another path, or move this file away; it was left as it is."
        case .databaseDamaged:
            "Stop the daemon, keep the file, because writes that wait are only in it, and let a new one be pulled: move it "
                + "away and start again."
        case .databaseReplaced:
            "Put the file back: writes that wait are in it. Where it is gone for good, restart the daemon, which begins a new one."
        case .databaseLinked:
            "Remove the other name; `find DIR -xdev -samefile FILE` lists them. A backup is made with `VACUUM INTO`."
        case .databaseReadOnly:
            "Check the owner and mode of the file and its folder. The units may write nowhere but in their own folders: "
                + "another takes ReadWritePaths= in `systemctl edit prsnld` (docs/service.md)."
        case .databaseUnreadable: "Check the path and its permissions; you may need to be in the daemon's group."
        case .noDatabase: "Start the daemon, or run `prsnld --once`, to make the first copy."
        case .diskFull: "Free some space; the daemon goes on by itself."
        case .diskError: "Check the disk with dmesg and smartctl."
        case .storeBug: "Please report this with the log."
        case .accountChanged:
            "Log in as the copy's account with `prsnlctl login`. To begin a new copy for the other account, `prsnlctl account "
                + "--accept-new` sets this one aside."
        case .serverChanged:
            "Set server_url back. To begin a new copy of the other server, `prsnlctl account --accept-new` sets this one aside."
        case .nothingToAccept:
            "For another account, log in as it first: `prsnlctl login`. For another server, change server_url first."
        case .dialectUnknown: "Check server_url: no timeline in a known form was found there."
        case .pagesIgnored, .pageDisordered, .pageContradictory:
            "Report this to the people who run the server; the copy stays as it is."
        case .timelineUnsettled: "Wait; the daemon tries again when the timeline is quieter."
        case .deletionsHeld: "Look at the server. If the items are meant to be gone, accept it."
        case .deletionUndecided: "Look at the server's log for requests of this item; it is asked for again by itself."
        case .crowdedInstant:
            "Nothing to do here: more items share that time than the server's pages can tell apart."
        case .itemsRejected:
            "Look at them with `SELECT reason, raw FROM rejected_item`, and mend them on the server."
        case .writeInvalid: "Change the value and give the command again."
        case .itemUnknown: "Look for the id with `SELECT id, title FROM timeline`, or pull first: `prsnlctl sync`."
        case .itemAmbiguous: "Give more characters of the id."
        case .entryUnknown: "Look for its number with `prsnlctl queue --all`."
        case .entryNotChangeable: "Look at it with `prsnlctl queue show N`."
        case .notOwner: "Start the daemon, or give the command as root or as the owner of the file."
        case .editConflict:
            "Compare the values with `prsnlctl queue show`; `prsnlctl retry-queue N` overwrites, `prsnlctl queue drop N` "
                + "gives up."
        case .itemGone: "Give the write up with `prsnlctl queue drop N`."
        case .outcomeUndecidable:
            "Look at the server: if it is there, `prsnlctl queue drop N`; if not, `prsnlctl retry-queue N` sends it again."
        case .writeTooOld: "Try once more with `prsnlctl retry-queue N`, or give it up with `prsnlctl queue drop N`."
        case .limitReached:
            "Raise the limit: `ulimit -n 1024` in a shell, LimitNOFILE= or TasksMax= in `systemctl edit prsnld`."
        case .usage: "See --help."
        case .daemonNotRunning: "Start it with `systemctl start prsnld`, or run `prsnld` in a terminal."
        case .daemonBusy: "Try again in a moment."
        case .controlRefused:
            "Give the command as root or as the daemon's user; `adduser USER prsnld` lets a user look, after the next "
                + "login, and group_may_write = yes lets the group change things."
        case .controlSocketTaken: "Stop the other daemon, or set control_socket to a path of its own."
        case .controlSocketFailed: "Check control_socket, and that the daemon's user may write to its folder."
        case .controlProtocol: "Check that prsnld and prsnlctl are of the same version, then restart the daemon."
        }
    }

    /// The command that the suggestion comes down to, where there is one.
    package var nextCommand: String? {
        switch self {
        case .configInvalid: "prsnld --check-config"
        case .noDatabase: "prsnld --once"
        case .offline: "prsnlctl net"
        case .needsLogin, .loginExpired, .loginFailed, .loginFileUnreadable: "prsnlctl login"
        case .deletionsHeld: "prsnlctl sync --accept-deletions"
        case .daemonNotRunning: "systemctl start prsnld"
        default: nil
        }
    }
}
