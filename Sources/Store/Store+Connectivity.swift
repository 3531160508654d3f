public import PRSNLCore

extension Store {
    /// So many transitions are kept.
    static let keptTransitions = 200

    /// Keeps transitions, and forgets the oldest.
    public func saveTransitions(_ transitions: [ConnectivityTransition]) throws(UserFacingError) {
        try write { connection throws(SQLiteFailure) in
            for transition in transitions.suffix(Self.keptTransitions) {
                try connection.prepare(
                    "INSERT INTO connectivity_transition (at, state, error_code, reason) VALUES (?, ?, ?, ?)"
                ).bind(transition.at).bind(transition.state.rawValue).bind(transition.code?.rawValue)
                    .bind(transition.reason).run()
            }
            try connection.prepare(
                "DELETE FROM connectivity_transition WHERE id <= (SELECT max(id) FROM connectivity_transition) - ?"
            ).bind(Self.keptTransitions).run()
        }
    }
}

extension StoreReader {
    /// When the server could be used, and why not; newest first. Empty in a file of an older version.
    public func connectivityHistory(limit: Int = 20) throws(UserFacingError) -> [ConnectivityTransition] {
        try read { () throws(SQLiteFailure) in
            guard try connection.integer("PRAGMA user_version") >= 3 else { return [] }
            let rows = try connection.prepare(
                "SELECT at, state, error_code, reason FROM connectivity_history LIMIT ?"
            ).bind(limit)
            var transitions: [ConnectivityTransition] = []
            while try rows.step() {
                guard let at = rows.timestamp(0), let state = rows.text(1).flatMap(Connectivity.State.init) else {
                    continue  // of a kind that a newer version writes
                }
                transitions.append(
                    ConnectivityTransition(
                        at: at, state: state, code: rows.text(2).flatMap(ErrorCode.init), reason: rows.text(3)))
            }
            return transitions
        }
    }
}
