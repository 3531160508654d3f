import Configuration
import PRSNLCore
import Synchronization

/// The login that is in use and the one that the file holds: the same, unless the disk does not take it.
///
/// One lock is held over every change of the file together with what follows from it, so that a renewal whose answer comes
/// late never overwrites a login that somebody has just made, or brings back one that was ended.
final class LoginStorage: Sendable {
    private struct State {
        var live: StoredLogin?
        var stored: StoredLogin?
    }

    let file: LoginFile
    private let state: Mutex<State>

    init(_ file: LoginFile, stored: StoredLogin?) {
        self.file = file
        state = Mutex(State(live: stored, stored: stored))
    }

    /// Stores a renewed pair, unless the pair that it replaces is no longer the one in use.
    ///
    /// - Throws: `disk_full`, `login_not_stored`; to be called again then.
    func save(_ new: TokenPair, replacing old: TokenPair) throws(UserFacingError) {
        try state.withLock { state throws(UserFacingError) in
            guard var login = state.live, login.pair == old || login.pair == new else { return }
            login.pair = new
            state.live = login
            try file.write(login)
            state.stored = login
        }
    }

    /// Stores another login, or none, and then lets `use` make it the one in use. Where it throws, nothing has changed.
    ///
    /// - Throws: `disk_full`, `login_not_stored`.
    func replace(with login: StoredLogin?, use: (StoredLogin?) -> Void) throws(UserFacingError) {
        try state.withLock { state throws(UserFacingError) in
            if let login { try file.write(login) } else { try file.remove() }
            state.live = login
            state.stored = login
            use(login)
        }
    }

    /// Reads the file again. Where it holds what it held, nothing happens: a pair that is newer than the file, because the
    /// disk did not take it, stays in use.
    ///
    /// - Parameter use: called with another login, or with none where there was one.
    /// - Returns: whether there is a login.
    /// - Throws: `login_file_unreadable`, `key_file_exposed`, `login_other_server`.
    func readAgain(for server: ServerURL, use: (StoredLogin?) -> Void) throws(UserFacingError) -> Bool {
        try state.withLock { state throws(UserFacingError) in
            let found = try file.read()
            try found?.check(isFor: server)
            if found != state.stored || state.live == nil, found != state.live {
                state.live = found
                state.stored = found
                use(found)
            }
            return state.live != nil
        }
    }

    /// Something else is used in its place; the file stays.
    func forget() {
        state.withLock { state in
            state.live = nil
            state.stored = nil
        }
    }
}
