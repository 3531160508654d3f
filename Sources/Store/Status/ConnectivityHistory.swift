package import PRSNLCore

extension Store {
    /// So many transitions are kept.
    static let keptTransitions = 200

    /// Keeps transitions, and forgets the oldest. What the file says already is not written again: a daemon that starts
    /// and finds its server has no news.
    package func saveTransitions(_ transitions: [ConnectivityTransition]) throws(UserFacingError) {
        let last = try read { connection throws(SQLiteFailure) in
            try connection.text("SELECT state FROM connectivity_transition ORDER BY id DESC LIMIT 1")
        }
        let news = transitions.drop { $0.state.rawValue == last ?? Connectivity.State.online.rawValue }
        guard !news.isEmpty else { return }
        try write { connection throws(SQLiteFailure) in
            for transition in news.suffix(Self.keptTransitions) {
                try connection.prepare(
                    "INSERT INTO connectivity_transition (at, state, error_code, reason) VALUES (?, ?, ?, ?)"
                ).bind(transition.at).bind(transition.state.rawValue).bind(transition.code)
                    .bind(transition.reason).run()
            }
            try connection.prepare(
                "DELETE FROM connectivity_transition WHERE id <= (SELECT max(id) FROM connectivity_transition) - ?"
            ).bind(Self.keptTransitions).run()
        }
    }
}

extension StoreReader {
    /// When the server could be used, and why not. Newest first.
    package func connectivityHistory(limit: Int = 20) throws(UserFacingError) -> [ConnectivityTransition] {
        try read { () throws(SQLiteFailure) in
            try connection.prepare(
                "SELECT at, state, error_code, reason FROM connectivity_history LIMIT ?"
            ).bind(limit).all { row in
                guard let at = row.timestamp(0), let state = row.text(1).flatMap(Connectivity.State.init) else {
                    return nil  // of a kind that a newer version writes
                }
                return ConnectivityTransition(at: at, state: state, code: row.text(2), reason: row.text(3))
            }
        }
    }
}
