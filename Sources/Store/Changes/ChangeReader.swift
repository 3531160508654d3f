import CSQLite
package import PRSNLCore

/// A place in the changes of a copy: all up to it were seen. A number means nothing in another history, so it has the epoch.
package struct ChangePlace: Sendable, Equatable, CustomStringConvertible {
    package var epoch: String
    package var seq: Int64
    /// When that change was committed, where it is known: a file that was put back to an earlier state goes on with the same
    /// numbers, and with other changes.
    package var at: Timestamp?

    package init(epoch: String, seq: Int64, at: Timestamp? = nil) {
        self.epoch = epoch
        self.seq = seq
        self.at = at
    }

    /// `0f3a…:12`
    package init?(_ text: String) {
        let parts = text.split(separator: ":", maxSplits: 1)
        guard parts.count == 2, parts[0].utf8.count == 16, parts[0].allSatisfy(\.isHexDigit), let seq = Int64(parts[1]),
            (0...Int64(ForeignNumber.largest)).contains(seq)
        else { return nil }
        self.init(epoch: String(parts[0]), seq: seq)
    }

    package var description: String { "\(epoch):\(seq)" }
}

/// One row of the view `change`. `old` and `new` are JSON objects.
package struct Change: Sendable, Equatable {
    package var seq: Int64
    package var at: Timestamp
    package var itemID: String?
    package var kind: String
    package var origin: String
    package var old: String?
    package var new: String?
    /// The item's, as of the change or as it is now.
    package var title: String?
    /// The names of what has changed; of an identified item its id.
    package var fields: String?

    /// One line of JSON, without its end. docs/cli.md describes it.
    package var line: String {
        func text(_ value: String?) -> String {
            value.map { JSONText.escapingControls(JSONText.string($0)) } ?? "null"
        }
        // A prepared file may have anything in its place, which is a text then.
        func object(_ value: String?) -> String {
            guard let value, let json = JSONText.oneLine(Array(value.utf8)) else { return text(value) }
            return JSONText.escapingControls(String(decoding: json, as: UTF8.self))
        }
        return
            #"{"seq":\#(seq),"at":"\#(at)","item_id":\#(text(itemID)),"kind":\#(text(kind)),"origin":\#(text(origin)),"#
            + #""old":\#(object(old)),"new":\#(object(new))}"#
    }
}

/// What a copy says of its changes after a place. Three of these are never an empty list.
package enum ChangeAnswer: Sendable, Equatable {
    /// - Parameter newest: the last that there is.
    case changes([Change], epoch: String, newest: Int64)
    /// Rows after the place are not kept any more; the oldest that is.
    case gap(oldest: Int64, epoch: String)
    /// The place is of another history: another account, a restored backup, a new copy.
    case otherEpoch(String, newest: Int64)
    /// The place is after the last change.
    case future(newest: Int64, epoch: String)
}

extension StoreReader {
    /// - Parameters:
    ///   - place: `nil`: from the oldest that is kept.
    ///   - limit: so many at the most.
    /// - Throws: `changes_unavailable`, where an older prsnld has made the file.
    package func changes(after place: ChangePlace?, limit: Int) throws(UserFacingError) -> ChangeAnswer {
        try readTogether {
            guard let bounds = try changeBounds() else { throw noChanges }
            let (epoch, oldest, newest) = bounds
            if let place {
                if place.epoch != epoch { return .otherEpoch(epoch, newest: newest) }
                if place.seq > newest { return .future(newest: newest, epoch: epoch) }
                if place.seq < oldest - 1 { return .gap(oldest: oldest, epoch: epoch) }
                if try isOther(place) { return .otherEpoch(epoch, newest: newest) }
            }
            let rows = try connection.prepare(
                """
                SELECT seq, at, item_id, kind, origin, old, new, coalesce(json_extract(becomes, '$.title'),
                        json_extract(was, '$.title'), (SELECT \(WrittenHere.shownTitle) FROM item WHERE id = item_id)),
                    (SELECT group_concat(iif(kind = 'identified', value, key), ', ') FROM json_each(coalesce(becomes, was)))
                FROM \(ChangeLog.rows) WHERE seq > ? ORDER BY seq LIMIT ?
                """
            ).bind(Int(place?.seq ?? 0)).bind(limit).all { row -> Change? in
                guard let at = row.timestamp(1) else { return nil }
                return Change(
                    seq: row.int64(0), at: at, itemID: row.text(2), kind: row.text(3) ?? "", origin: row.text(4) ?? "",
                    old: row.text(5), new: row.text(6), title: row.text(7), fields: row.text(8))
            }
            return .changes(rows, epoch: epoch, newest: newest)
        }
    }

    /// Whether the change at a place is another one than it was.
    private func isOther(_ place: ChangePlace) throws -> Bool {
        guard let at = place.at else { return false }
        return try connection.prepare("SELECT 1 FROM change_log WHERE seq = ? AND at != ?").bind(Int(place.seq))
            .bind(at).hasRow()
    }

    package static let keptChanges = ChangeLog.most

    package static let keptDays = Int(ChangeLog.life.components.seconds) / 86_400

    /// How many items are here while the first pull has not ended; `nil` after it.
    package func itemsBeforeFirstPullEnded() throws(UserFacingError) -> Int? {
        try readTogether {
            try changeBounds()?.newest == 0 ? Int(try connection.integer("SELECT live FROM copy")) : nil
        }
    }

    /// How many changes there are after a place, and when the first of them was; `nil` where that cannot be said.
    package func distance(from place: ChangePlace) throws(UserFacingError) -> (changes: Int64, since: Timestamp?)? {
        try readTogether {
            guard let (epoch, _, newest) = try changeBounds(), epoch == place.epoch else { return nil }
            let first = try connection.prepare("SELECT at FROM \(ChangeLog.rows) WHERE seq > ? ORDER BY seq LIMIT 1")
                .bind(Int(place.seq)).first { $0.timestamp(0) }
            return (max(0, newest - place.seq), first ?? nil)
        }
    }

    /// The place before the first change at a time or after it.
    package func changePlace(at time: Timestamp) throws(UserFacingError) -> ChangePlace {
        try readTogether {
            guard let (epoch, oldest, newest) = try changeBounds() else { throw noChanges }
            let first =
                try connection.prepare("SELECT min(seq) FROM \(ChangeLog.rows) WHERE at >= ?").bind(time)
                .first { $0.isNull(0) ? nil : $0.int64(0) } ?? nil
            // What was before the oldest is not known.
            let isOlder = oldest > 1 && first == oldest
            return ChangePlace(epoch: epoch, seq: isOlder ? 0 : first.map { $0 - 1 } ?? newest)
        }
    }

    /// The whole timeline as rows of the kind `present`, and the place after which changes go on without a hole: of one moment.
    ///
    /// - Parameters:
    ///   - query: only what it finds.
    ///   - begin: gets the place, before the first row.
    ///   - each: gets the rows in the order of time, each with the place's number.
    package func presentItems(
        matching query: SearchQuery?, _ begin: (ChangePlace) throws(UserFacingError) -> Void,
        _ each: (Change) throws(UserFacingError) -> Void
    ) throws(UserFacingError) -> ChangePlace {
        try readTogether {
            guard let (epoch, _, newest) = try changeBounds() else { throw noChanges }
            let at =
                try connection.prepare("SELECT at FROM change_log WHERE seq = ?").bind(Int(newest))
                .first { $0.timestamp(0) } ?? nil
            try connection.registerTextMark()
            connection.removeDeadline()
            let place = ChangePlace(epoch: epoch, seq: newest, at: at)
            try begin(place)
            let states = try query.map { query in try ItemStates(query, of: connection) }
            var waiting: [Change] = []
            func handOn() throws {
                let found = try states?.take()
                for (number, change) in waiting.enumerated() where found?.contains(Int64(number)) ?? true {
                    try each(change)
                }
                waiting = []
            }
            try connection.prepare(ChangeLog.present).rows { row in
                let json = row.text(3)
                try states?.add([json].compactMap(\.self), of: Int64(waiting.count), row.text(0) ?? "")
                waiting.append(
                    Change(
                        seq: newest, at: row.timestamp(1) ?? .earliest, itemID: row.text(0), kind: "present",
                        origin: row.text(2) ?? "", old: nil, new: json, title: row.text(4)))
                if waiting.count == ItemStates.atOnce { try handOn() }
            }
            try handOn()
            return place
        }
    }

    /// The epoch, and the first and the last row: 1 and 0 where there is none. `nil` where the file has no history.
    private func changeBounds() throws -> (epoch: String, oldest: Int64, newest: Int64)? {
        let bounds = try connection.prepare(
            """
            SELECT epoch, coalesce((SELECT min(seq) FROM \(ChangeLog.rows)), 1),
                coalesce((SELECT max(seq) FROM \(ChangeLog.rows)), 0)
            FROM change_state
            """
        ).first { ($0.text(0) ?? "", $0.int64(1), $0.int64(2)) }
        // It is printed as it is, and stands in the files of readers.
        guard let bounds, ChangePlace("\(bounds.0):0") == nil else { return bounds }
        throw SQLiteFailure(code: SQLITE_CORRUPT, message: "the history has no valid name", operation: "changes")
    }

    private var noChanges: UserFacingError {
        UserFacingError(.changesUnavailable, "The copy \(path) notes no changes yet: an older prsnld has made it.")
    }
}
