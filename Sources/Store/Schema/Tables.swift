/// The tables with their indexes, each beside the reason for it.
enum Tables {
    static let all = [
        copy, item, coverage, crowdedInstant, rejectedItem, heldDeletion, unansweredCandidate, outbox, outboxAttempt,
        localItem, localEdit, heldItem, pull, recurringError, connectivityTransition,
    ]

    // MARK: The copy

    /// One row: which timeline this is a copy of, and how good the copy is. The counters are kept here because counting a
    /// million rows takes a quarter of a second.
    ///
    /// `account_subject` is the account that the login token names. It tells another account's login before anything is
    /// asked with it. `suspects_sampled_at`: some of too many deletion candidates were asked for by id, and found. The rest wait
    /// for the next sweep. `reachable_seconds`, over the file's life, is the clock of the outbox's age limit.
    private static let copy = """
        CREATE TABLE copy (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            server_url TEXT,
            dialect TEXT CHECK (dialect IN ('C', 'P', 'E')),
            account_id TEXT,
            account_name TEXT,
            account_subject TEXT,
            bound_at TEXT,
            new_as_of TEXT,
            edits_as_of TEXT,
            complete INTEGER NOT NULL DEFAULT 0 CHECK (complete IN (0, 1)),
            sweep_started_at TEXT,
            swept_at TEXT,
            suspects_sampled_at TEXT,
            head_open INTEGER NOT NULL DEFAULT 0 CHECK (head_open IN (0, 1)),
            deletions_held INTEGER NOT NULL DEFAULT 0,
            live INTEGER NOT NULL DEFAULT 0,
            deleted INTEGER NOT NULL DEFAULT 0,
            waiting INTEGER NOT NULL DEFAULT 0,
            unknown INTEGER NOT NULL DEFAULT 0,
            parked INTEGER NOT NULL DEFAULT 0,
            reachable_seconds REAL NOT NULL DEFAULT 0,
            stopped_cleanly INTEGER NOT NULL DEFAULT 1 CHECK (stopped_cleanly IN (0, 1))
        ) STRICT;
        INSERT INTO copy (id) VALUES (1);
        """

    /// The server's items, and tombstones of those that it deleted (`deleted_at`). `missing_since`: the server's list lacks
    /// the item, which is not yet proof. `found_at`: it was then asked for by its id, and found.
    private static let item = """
        CREATE TABLE item (
            id TEXT NOT NULL UNIQUE,
            created_at TEXT NOT NULL,
            updated_at TEXT,
            type TEXT,
            title TEXT,
            url TEXT,
            summary TEXT,
            content TEXT,
            tags TEXT,
            platform TEXT,
            category TEXT,
            thumbnail_url TEXT,
            duration REAL,
            file_path TEXT,
            status TEXT,
            permalink TEXT,
            extra TEXT,
            deleted_at TEXT,
            missing_since TEXT,
            found_at TEXT
        ) STRICT;
        CREATE INDEX item_by_time ON item (created_at) WHERE deleted_at IS NULL;
        CREATE INDEX item_missing ON item (missing_since) WHERE missing_since IS NOT NULL;
        CREATE INDEX item_pending ON item (created_at) WHERE status = 'pending';
        CREATE INDEX item_deleted ON item (deleted_at) WHERE deleted_at IS NOT NULL;
        """

    /// Closed intervals of `created_at` that the copy holds completely.
    private static let coverage = """
        CREATE TABLE coverage (
            from_time TEXT PRIMARY KEY,
            to_time TEXT NOT NULL,
            read_at TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;
        """

    /// Instants at which the server has at least as many items as fit on a page, so that some may be out of reach.
    private static let crowdedInstant = """
        CREATE TABLE crowded_instant (
            at TEXT PRIMARY KEY,
            seen INTEGER NOT NULL,
            read_at TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;
        """

    /// Items that could not be read, as they came.
    private static let rejectedItem = """
        CREATE TABLE rejected_item (
            raw TEXT PRIMARY KEY,
            item_id TEXT,
            reason TEXT NOT NULL,
            first_seen TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;
        """

    /// The deletions that a person is asked about, by id: exactly these are accepted.
    private static let heldDeletion = """
        CREATE TABLE held_deletion (
            item_id TEXT PRIMARY KEY
        ) STRICT, WITHOUT ROWID;
        """

    /// Deletion candidates that cannot be asked for by id. Each has its own wait, so that none delays the others.
    private static let unansweredCandidate = """
        CREATE TABLE unanswered_suspect (
            item_id TEXT PRIMARY KEY,
            failures INTEGER NOT NULL,
            next_at TEXT NOT NULL,
            error_message TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;
        """

    // MARK: The outbox

    /// Accepted writes, in order. docs/outbox.md draws the states. AUTOINCREMENT, because people know entries by their
    /// number.
    ///
    /// - `request_key`: the sender's name for the write. A request with a known key is not written again.
    /// - `undecided_since`, `undecided_here`: when a look first could not find what was sent, by the server's clock and by
    ///   this machine's. `failed_looks` counts failed looks in a row, for their backoff.
    /// - `follows`: the last entry whose title or tags this edit carries, because the server did not take them.
    /// - `awaits_item`: 1 while an edit waits until the server has processed its item.
    /// - `is_unverified`: 1 as long as the server may lack some of what a delivered entry asked for.
    ///
    /// Each index costs a page or two per move, so there are only those that a move itself asks. `outbox_unknown` does not
    /// say WHERE state = 'unknown': SQLite prepares a statement again for each value of a parameter that is compared with
    /// the column of such a condition.
    private static let outbox = """
        CREATE TABLE outbox (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            kind TEXT NOT NULL CHECK (kind IN ('capture', 'note', 'edit', 'delete')),
            state TEXT NOT NULL
                CHECK (state IN ('queued', 'sending', 'unknown', 'delivered', 'parked', 'dropped', 'superseded')),
            item_id TEXT NOT NULL,
            local_id TEXT,
            payload TEXT NOT NULL,
            url TEXT,
            title TEXT,
            base TEXT,
            theirs TEXT,
            accepted_at TEXT NOT NULL,
            ended_at TEXT,
            next_attempt_at TEXT,
            attempts INTEGER NOT NULL DEFAULT 0,
            failures INTEGER NOT NULL DEFAULT 0,
            failed_looks INTEGER NOT NULL DEFAULT 0,
            last_attempt_at TEXT,
            reachable_at REAL NOT NULL,
            superseded_by INTEGER,
            follows INTEGER,
            remark TEXT,
            error_code TEXT,
            error_message TEXT,
            idempotency_key TEXT NOT NULL,
            request_key TEXT,
            fingerprint TEXT,
            maybe_applied INTEGER NOT NULL DEFAULT 0 CHECK (maybe_applied IN (0, 1)),
            awaits_item INTEGER NOT NULL DEFAULT 0 CHECK (awaits_item IN (0, 1)),
            is_unverified INTEGER NOT NULL DEFAULT 0 CHECK (is_unverified IN (0, 1)),
            by_hand TEXT CHECK (by_hand IN ('retry', 'overwrite')),
            evidence TEXT,
            undecided_since TEXT,
            undecided_here TEXT,
            CHECK ((ended_at IS NULL) = (state IN ('queued', 'sending', 'unknown', 'parked'))),
            CHECK (next_attempt_at IS NULL OR state IN ('queued', 'unknown'))
        ) STRICT;
        CREATE INDEX outbox_due ON outbox (state, kind, next_attempt_at, id) WHERE next_attempt_at IS NOT NULL;
        CREATE INDEX outbox_open ON outbox (id) WHERE ended_at IS NULL;
        CREATE INDEX outbox_item ON outbox (item_id, id) WHERE ended_at IS NULL;
        CREATE INDEX outbox_unknown ON outbox (fingerprint) WHERE maybe_applied IS 1;
        CREATE UNIQUE INDEX outbox_request ON outbox (request_key) WHERE request_key IS NOT NULL;
        CREATE INDEX outbox_follow_ups ON outbox (next_attempt_at) WHERE follows IS NOT NULL AND ended_at IS NULL;
        CREATE INDEX outbox_unverified ON outbox (item_id) WHERE is_unverified IS 1;
        CREATE INDEX outbox_failing ON outbox (kind) WHERE \(isFailing);
        """

    /// Writes that have failed again and again, or were refused: the condition of `outbox_failing`, which a query repeats
    /// to be answered by it.
    static let isFailing = """
        ended_at IS NULL AND (failures >= 4 OR failed_looks >= 4
            OR state = 'queued' AND error_code IN ('unauthorized', 'forbidden', 'redirect_refused'))
        """

    /// The requests that were made for an entry.
    private static let outboxAttempt = """
        CREATE TABLE outbox_attempt (
            entry_id INTEGER NOT NULL,
            number INTEGER NOT NULL,
            purpose TEXT NOT NULL CHECK (purpose IN ('send', 'look')),
            started_at TEXT NOT NULL,
            ended_at TEXT,
            verdict TEXT,
            error_code TEXT,
            status INTEGER,
            request_id TEXT,
            PRIMARY KEY (entry_id, number)
        ) STRICT, WITHOUT ROWID;
        """

    /// Items that were created here and that no pull has brought yet.
    private static let localItem = """
        CREATE TABLE local_item (
            entry_id INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            created_at TEXT NOT NULL,
            type TEXT,
            title TEXT,
            url TEXT,
            content TEXT,
            tags TEXT,
            delivered_at TEXT
        ) STRICT;
        CREATE INDEX local_item_by_time ON local_item (created_at);
        CREATE INDEX local_item_delivered ON local_item (delivered_at) WHERE delivered_at IS NOT NULL;
        """

    /// Edits and deletions that wait: what they make of the item.
    private static let localEdit = """
        CREATE TABLE local_edit (
            item_id TEXT PRIMARY KEY,
            title TEXT,
            summary TEXT,
            tags TEXT,
            is_deleted INTEGER NOT NULL DEFAULT 0 CHECK (is_deleted IN (0, 1))
        ) STRICT, WITHOUT ROWID;
        """

    /// New items of the server that may be a creation whose outcome is not known. They are shown once it is.
    private static let heldItem = """
        CREATE TABLE held_item (
            item_id TEXT PRIMARY KEY,
            entry_id INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        """

    // MARK: History

    /// Pulls that did something, the last 100 of each kind.
    private static let pull = """
        CREATE TABLE pull (
            id INTEGER PRIMARY KEY,
            kind TEXT NOT NULL,
            started_at TEXT NOT NULL,
            ended_at TEXT,
            outcome TEXT NOT NULL,
            requests INTEGER NOT NULL,
            pages INTEGER NOT NULL,
            added INTEGER NOT NULL,
            changed INTEGER NOT NULL,
            deleted INTEGER NOT NULL,
            suspects INTEGER NOT NULL,
            rejected INTEGER NOT NULL,
            error_code TEXT
        ) STRICT;
        """

    /// Errors by code and endpoint.
    private static let recurringError = """
        CREATE TABLE recurring_error (
            code TEXT NOT NULL,
            endpoint TEXT NOT NULL,
            message TEXT NOT NULL,
            first_at TEXT NOT NULL,
            last_at TEXT NOT NULL,
            count INTEGER NOT NULL,
            over INTEGER NOT NULL DEFAULT 0 CHECK (over IN (0, 1)),
            PRIMARY KEY (code, endpoint)
        ) STRICT, WITHOUT ROWID;
        """

    /// When the server could be used, and why not.
    private static let connectivityTransition = """
        CREATE TABLE connectivity_transition (
            id INTEGER PRIMARY KEY,
            at TEXT NOT NULL,
            state TEXT NOT NULL,
            error_code TEXT,
            reason TEXT
        ) STRICT;
        """
}

/// Step 2: the texts of items, beside the items. A scan of the timeline does not read them.
enum TextTables {
    static let all = [marker, itemBody, textProblem]

    /// Step 5: which rows say no version.
    static let claims = ["CREATE INDEX item_unversioned ON item (id) WHERE updated_at IS NULL;"]

    /// Whether the copy lacks the text of a row of `item`: it was never asked for, or when the row was of another time. An item
    /// that the server works on has no text yet.
    ///
    /// The condition of `item_text_due`, which a query repeats to be answered by it. So the index is the list of what is due,
    /// and SQLite keeps it true.
    static let isBehind = """
        text_for IS NOT coalesce(updated_at, created_at) AND status IS NOT 'pending'
            AND deleted_at IS NULL
        """

    /// Whether the text is to be asked for. An item that the list lacks is asked about first.
    static let isDue = "\(isBehind) AND missing_since IS NULL"

    /// Whether the text of an item that the server works on is not here. Where that takes more than `patience`, it is asked for
    /// too: an item may stay so for years.
    static let isPending = """
        status = 'pending' AND text_for IS NOT coalesce(updated_at, created_at) AND deleted_at IS NULL
            AND missing_since IS NULL
        """
    static let patience: Duration = .seconds(86_400)

    /// Those of them that were never asked for.
    static let unasked = """
        FROM main.item INDEXED BY item_pending
            LEFT JOIN text_problem AS problem ON problem.item_id = item.id AND problem.row_version = \(version)
        WHERE \(isPending) AND problem.item_id IS NULL
        """
    static let version = "coalesce(item.updated_at, item.created_at)"

    /// Whether the text counts as missing. That of an item which a complete sweep did not see does not: it cannot be had.
    static let isMissing = """
        \(isBehind) AND coalesce(missing_since > (SELECT swept_at FROM copy), 1)
        """

    static let isTooLarge = """
        EXISTS (SELECT 1 FROM text_problem AS problem WHERE problem.item_id = item.id
            AND problem.kind = 'too_large' AND problem.row_version = coalesce(updated_at, created_at))
        """

    /// `text_for`: the `updated_at` that the item had when its text was asked for last, with success.
    private static let marker = """
        ALTER TABLE item ADD COLUMN text_for TEXT;
        CREATE INDEX item_text_due ON item (created_at) WHERE \(isBehind);
        """

    /// The texts. `version`: the server's `updated_at` of the item as the answer had it. Short columns stand first: the long
    /// ones are not read for them.
    private static let itemBody = """
        CREATE TABLE item_body (
            item_id TEXT PRIMARY KEY,
            version TEXT,
            fetched_at TEXT NOT NULL,
            is_transcription INTEGER NOT NULL DEFAULT 0 CHECK (is_transcription IN (0, 1)),
            metadata TEXT,
            content TEXT,
            transcription TEXT
        ) STRICT;
        """

    /// Texts that could not be had. Each has its own wait, so that none delays the others. It counts for `row_version` alone.
    private static let textProblem = """
        CREATE TABLE text_problem (
            item_id TEXT PRIMARY KEY,
            kind TEXT NOT NULL CHECK (kind IN ('stale', 'failing', 'too_large')),
            row_version TEXT NOT NULL,
            failures INTEGER NOT NULL,
            next_at TEXT,
            size INTEGER,
            error_code TEXT NOT NULL,
            error_message TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;
        """
}
