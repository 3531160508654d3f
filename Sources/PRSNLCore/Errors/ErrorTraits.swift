extension Advice {
    /// How the copy of another account or server is set aside, and a new one begun.
    package static let newCopy: Advice =
        "`sudo systemctl stop prsnld`, `prsnlctl account --accept-new`, `sudo systemctl start prsnld`"
}

/// What is true of an error code: the one table of it. A new code gets its entry here and in docs/errors.md.
package struct ErrorTraits: Sendable {
    /// For people, by the API contract.
    package enum Heading: String, Sendable {
        case other = "Something went wrong"
        case connection = "Connection error"
        case login = "Authentication required"
        case slowDown = "Slow down"
    }

    /// What a request that ends so has got from the server.
    package enum Reply: Sendable {
        /// It was not sent, or was stopped from here.
        case stopped
        case silence, cutOff, portal
        /// The credentials are refused.
        case login
        /// An answer that PRSNL gives to other requests, and never to a probe, which needs no credentials.
        case refusal
        /// An answer that asks to come again later.
        case later
        /// Nothing that tells of the connection. As the answer to a probe, it is not PRSNL's.
        case other
    }

    package struct Flags: OptionSet, Sendable {
        package let rawValue: Int
        package init(rawValue: Int) { self.rawValue = rawValue }

        /// Waiting does not help: a person has to change something.
        package static let needsPerson = Flags(rawValue: 1)
        /// Any other request would fail in the same way.
        package static let stopsEverything = Flags(rawValue: 2)
        /// It is about the database or its disk, and not about the server.
        package static let isOfFile = Flags(rawValue: 4)
        /// The daemon cannot start until its configuration or its credentials are corrected: exit code 78.
        package static let isBadConfiguration = Flags(rawValue: 8)
        /// The database cannot be used as it is: exit code 65.
        package static let isBadFile = Flags(rawValue: 16)
    }

    package let reply: Reply
    package let heading: Heading
    package let flags: Flags
    /// What to do about it, where the place that throws knows nothing better.
    package let suggestion: Advice
    /// The command that the suggestion comes down to, where there is one.
    package let command: NextCommand?

    private init(
        _ reply: Reply, heading: Heading = .other, _ flags: Flags, _ suggestion: Advice, command: NextCommand? = nil
    ) {
        self.reply = reply
        self.heading = heading
        self.flags = flags
        self.suggestion = suggestion
        self.command = command
    }

    static let unknown: ErrorTraits = .passing("Please report this with the log.")

    /// What a person has to change.
    private static func person(_ suggestion: Advice, command: NextCommand? = nil) -> ErrorTraits {
        ErrorTraits(.other, [.needsPerson], suggestion, command: command)
    }

    private static func configuration(_ suggestion: Advice, command: NextCommand? = nil) -> ErrorTraits {
        ErrorTraits(.other, [.needsPerson, .isBadConfiguration], suggestion, command: command)
    }

    private static func badFile(_ suggestion: Advice) -> ErrorTraits {
        ErrorTraits(.other, [.needsPerson, .isBadFile], suggestion)
    }

    /// What may be over by itself, or does no harm.
    private static func passing(_ suggestion: Advice, command: NextCommand? = nil) -> ErrorTraits {
        ErrorTraits(.other, [], suggestion, command: command)
    }

    /// Nothing has come from the server.
    private static func silence(_ suggestion: Advice) -> ErrorTraits {
        ErrorTraits(.silence, heading: .connection, [.stopsEverything], suggestion)
    }

    /// A test finds the code that has no entry.
    package static let table: [ErrorCode: ErrorTraits] = [
        // Configuration.
        .configInvalid: .configuration(
            "Correct it where the message says, then run `prsnld --check-config`.", command: "prsnld --check-config"),
        .configUnreadable: .configuration("Check the path, and that this user may read the file."),
        .noServer: .configuration(
            "Log in with `prsnlctl login --server URL`, which writes it, or set server_url in the configuration."),
        .badServerURL: .configuration("Set server_url to an address like https://prsnl.example.org."),
        .insecureServerURL: .configuration(
            "Use https://, or set allow_insecure_http = true if the network in between is your own."),
        .keyFileUnreadable: .configuration("Check that api_key_file names a file that the daemon's user can read."),
        .keyFileExposed: .configuration("Run `chmod 600` on the key file."),
        .keyFileInvalid: .configuration(
            "Put the API key or the login token on a line of its own into the key file, nothing else."),
        .credentialsConflict: .person(
            """
            Remove api_key_file from the configuration (or the systemd credential `api-key`), restart the daemon, \
            then log in again.
            """),
        .loginFileUnreadable: .configuration(
            "Log in again with `prsnlctl login`, which writes a new file.", command: "prsnlctl login"),
        .loginNotStored: .person("Check the owner and mode of the folder that the database is in, and its disk."),
        .loginOtherServer: .configuration("Set server_url back, or log in to this server with `prsnlctl login`."),
        .loginNotPossible: .person("Check server_url, or use an API key: name its file with api_key_file."),

        // The server's answers.
        .unauthorized: ErrorTraits(
            .login, heading: .login, [.needsPerson, .stopsEverything],
            """
            Look with `prsnlctl whoami` what the server is shown: log in again, or put a valid key there, then \
            `systemctl restart prsnld`.
            """),
        .forbidden: ErrorTraits(
            .login, [.needsPerson, .stopsEverything],
            "Check what the key or the login may do, and whether a proxy before the server refuses this."),
        .needsLogin: ErrorTraits(
            .login, heading: .login, [.needsPerson, .stopsEverything],
            """
            Log in with `prsnlctl login`, or put an API key into the file of api_key_file. Only one of the two may be set.
            """, command: "prsnlctl login"),
        .loginExpired: ErrorTraits(
            .login, heading: .login, [.needsPerson, .stopsEverything],
            """
            Log in again with `prsnlctl login`. If you use a token file (api_key_file): put a new token into it, then \
            `systemctl restart prsnld`.
            """, command: "prsnlctl login"),
        .loginFailed: ErrorTraits(
            .other, heading: .login, [.needsPerson],
            "Try again. The password is the one of the server's web page.", command: "prsnlctl login"),
        .notFound: ErrorTraits(
            .refusal, [.needsPerson], "Check server_url: it must be the address under which /api/health answers."),
        .invalidInput: ErrorTraits(
            .refusal, [.needsPerson],
            "The server does not accept this request. Check that server_url is a PRSNL server."),
        .conflict: ErrorTraits(.refusal, [], "Look at the item on the server: it may have been changed in between."),
        .rateLimited: ErrorTraits(
            .later, heading: .slowDown, [], "Wait as long as the server asks. The daemon does so automatically."),
        .serverError: ErrorTraits(.later, [], "Look at the server's log. The daemon asks again, ever less often."),
        .serviceUnavailable: ErrorTraits(.later, [], "Wait. The daemon retries automatically, honouring Retry-After."),
        .unexpectedStatus: .passing("Check server_url. Something that is not a PRSNL server may be answering."),
        .redirectRefused: ErrorTraits(
            .portal, heading: .connection, [.needsPerson],
            "Set server_url to the address that the server redirects to, if you trust it."),
        .portal: ErrorTraits(
            .portal, [.stopsEverything], "Log in to the network's portal with a browser, or check server_url."),
        .unexpectedShape: .passing(
            "Check server_url with `curl SERVER_URL/api/health`: a PRSNL server answers with JSON."),
        .staleAnswer: .person("Let the cache or proxy in front of the server pass requests for /api/ through."),

        // The route to the server.
        .offline: ErrorTraits(
            .stopped, heading: .connection, [.stopsEverything],
            "Connect this machine to the network. The daemon notices at once. `prsnlctl net` shows what it sees.",
            command: "prsnlctl net"),
        .nameNotResolved: .silence("Check the host name in server_url and this machine's name servers."),
        .connectFailed: .silence("Check that the server runs and that its port can be reached from here."),
        .tlsFailed: ErrorTraits(
            .silence, heading: .connection, [.needsPerson, .stopsEverything],
            "Check the server's certificate and this machine's clock and CA certificates."),
        .timedOut: .silence("Check the network. Timeouts can be raised with the *_timeout keys."),
        .cutOff: ErrorTraits(
            .cutOff, heading: .connection, [],
            "Wait. The daemon retries automatically. If it stays so, check the address and its port."),
        .answerTooLarge: ErrorTraits(
            .other, heading: .connection, [.needsPerson], "Lower page_size, or raise max_answer_size."),
        .cancelled: ErrorTraits(.stopped, heading: .connection, [], "Give the command again, if it is still wanted."),

        // The copy.
        .databaseLocked: .person("Stop the other process, or give this one another database."),
        .databaseBusy: .passing("Close the program that has the file open for writing."),
        .otherApplication: .badFile("Set database to a path of its own. This file was left as it is."),
        .newerSchema: .badFile(
            "Install the newer prsnld again, or set database to another path. This file was left as it is."),
        .notADatabase: .badFile("Set database to another path, or move this file away. It was left as it is."),
        .databaseDamaged: ErrorTraits(
            .other, [.needsPerson, .stopsEverything, .isOfFile, .isBadFile],
            """
            Stop the daemon. Move the file away and keep it, because writes that wait are only in it. Then start the \
            daemon, which pulls a new copy.
            """),
        .databaseReplaced: ErrorTraits(
            .other, [.needsPerson, .stopsEverything, .isOfFile],
            """
            Put the file back: writes that wait are in it. Where it is gone for good, restart the daemon, which \
            begins a new one.
            """),
        .databaseLinked: .badFile(
            "Remove the other hard link. `find DIR -xdev -samefile FILE` lists them. A backup is made with `VACUUM INTO`."
        ),
        .databaseRestored: .person(
            """
            `prsnlctl retry-queue --parked` looks for each write on the server and sends what is not there. `prsnlctl \
            queue drop N` gives one up.
            """, command: "prsnlctl queue --state parked"),
        .databaseOnNetwork: .badFile(
            "Set `database` to a place on a disk of this machine, or allow it with `allow_network_file_system = yes`."),
        .databaseReadOnly: ErrorTraits(
            .other, [.needsPerson, .stopsEverything, .isOfFile],
            """
            Check the owner and mode of the file and its folder. The units may write nowhere but in their own \
            folders: another takes ReadWritePaths= in `systemctl edit prsnld` (docs/service.md).
            """),
        .databaseUnreadable: ErrorTraits(
            .other, [.needsPerson, .isOfFile],
            "Check the path and its permissions. You may need to be in the daemon's group."),
        .noDatabase: .person(
            "Start the daemon, or run `prsnld --once`, to make the first copy.", command: "prsnld --once"),
        .diskFull: ErrorTraits(
            .other, [.needsPerson, .stopsEverything, .isOfFile],
            "Free some space. A running daemon resumes automatically."),
        .diskError: ErrorTraits(.other, [.needsPerson, .isOfFile], "Check the disk with dmesg and smartctl."),
        .storeBug: .person("Please report this with the log."),

        // The pull.
        .accountChanged: ErrorTraits(
            .login, [.needsPerson, .stopsEverything],
            """
            Log in as the copy's account with `prsnlctl login`. To set this copy aside and begin one of the other \
            account: \(Advice.newCopy).
            """),
        .serverChanged: ErrorTraits(
            .other, [.needsPerson, .stopsEverything],
            "Set server_url back. To set this copy aside and begin one of the other server: \(Advice.newCopy)."),
        .nothingToAccept: .person(
            "For another account, log in as it first: `prsnlctl login`. For another server, change server_url first."),
        .dialectUnknown: .person("Check server_url: no timeline in a known form was found there."),
        .pageContradictory: .person("Report this to the people who run the server."),
        .timelineUnsettled: .passing("Wait. The daemon tries again when the timeline is quieter."),
        .deletionsHeld: .person(
            "Look at the server. If the items are meant to be gone, accept it.",
            command: "prsnlctl sync --accept-deletions"),
        .deletionUndecided: .passing(
            "Look at the server's log for requests of this item. The daemon retries automatically."),
        .crowdedInstant: .passing(
            "Nothing to do here: more items share that time than the server's pages can tell apart."),
        .itemsRejected: .passing(
            "Look at them with `SELECT reason, raw FROM rejected_item`, and correct them on the server."),

        // The texts.
        .textTooLarge: .passing("Raise text_max_size, or fetch this text alone with `prsnlctl sync --text ID`."),
        .textNotFound: .passing(
            "Nothing to do here. The next sweep finds out whether the item was deleted, and the text is asked for again."
        ),
        .textsUnavailable: .passing("Nothing to do here. With texts = no, the daemon does not ask for them."),

        // Finding.
        .noSearchIndex: .passing("Start the daemon, which builds it in the background."),
        .noURL: .passing("Read it with `prsnlctl show ID`."),
        .changesUnavailable: .passing("Start the daemon, which notes them from then on."),
        .changesMissed: .person("Read everything again: `prsnlctl changes --reread`."),

        // The outbox.
        .writeInvalid: .person("Change the value and give the command again."),
        .itemUnknown: .person("Look for the item with `prsnlctl search WORD`, or pull first: `prsnlctl sync`."),
        .itemAmbiguous: .person("Give more characters of the id."),
        .entryUnknown: .person("Look for its number with `prsnlctl queue --all`."),
        .entryNotChangeable: .person("Look at it with `prsnlctl queue show N`."),
        .editorFailed: .person("Set EDITOR, or give the text to the command."),
        .notOwner: .person("Start the daemon, or give the command as root or as the owner of the file."),
        .editConflict: .person(
            """
            Choose: `prsnlctl retry-queue N` overwrites the server's values, `prsnlctl queue drop N` gives the write up.
            """),
        .itemGone: .person(
            "If you want the item back, capture it again. Give this write up with `prsnlctl queue drop N`."),
        .captureGone: .passing(
            """
            Another client has deleted it, or the server was restored from an older backup. Capture it again, or take \
            note of it with `prsnlctl errors --clear`.
            """, command: "prsnlctl restore --gone"),
        .outcomeUndecidable: .person(
            """
            Look at the server: if it is there, `prsnlctl queue drop N`. If not, `prsnlctl retry-queue N` sends it \
            again.
            """),
        .writeTooOld: .person(
            "Try once more with `prsnlctl retry-queue N`, or give it up with `prsnlctl queue drop N`."),

        // The export.
        .exportFolder: .person("Check the folder, or name another one."),
        .exportMismatch: .person("Name another folder, or the copy that this folder's files were made from."),
        .importUnreadable: .person("Name the file or the folder that the other service gave you."),
        .libraryMissing: .person("Install the library that the message names."),

        // The machine.
        .limitReached: .person(
            "Raise the limit: `ulimit -n 1024` in a shell, LimitNOFILE= or TasksMax= in `systemctl edit prsnld`."),

        // The command line and the control socket.
        .usage: .person("See --help."),
        .daemonNotRunning: .passing(
            "Start it with `systemctl start prsnld`, or run `prsnld` in a terminal.",
            command: "systemctl start prsnld"),
        .daemonElsewhere: .passing("Leave --socket out, or give the one that the message names."),
        .daemonBusy: .passing("Try again in a moment."),
        .controlRefused: .person(
            """
            Give the command as root or as the daemon's user. `usermod -aG prsnld USER` lets a user look, after the \
            next login, and group_may_write = yes lets the group change things.
            """),
        .controlProtocol: .person("Check that prsnld and prsnlctl are of the same version, then restart the daemon."),
        .controlSocketTaken: .person("Stop the other daemon, or set control_socket to a path of its own."),
        .controlSocketFailed: .person("Check control_socket, and that the daemon's user may write to its folder."),
    ]
}
