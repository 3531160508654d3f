import Configuration
import PRSNLCore
import Synchronization

/// The login that is in use and the one that the file holds: the same, unless the disk does not take it.
///
/// One lock is held over every change of the file together with what follows from it, so that a renewal whose answer comes
/// late never overwrites a login that was just made, or brings back one that was ended.
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
            // Another program has put another one into the file, or removed it. The next reload finds out.
            guard holds(state.stored, orElse: login) else { return }
            state.live = login
            try file.write(login)
            state.stored = login
        }
    }

    /// Whether the file holds one of the two. One that cannot be read is worth nothing to anybody.
    private func holds(_ stored: StoredLogin?, orElse other: StoredLogin) -> Bool {
        do throws(UserFacingError) {
            let found = try file.read()
            return found == stored || found == other
        } catch {
            return true
        }
    }

    /// Stores another login, and then lets `use` make it the one in use. Where it throws, nothing has changed.
    ///
    /// - Throws: `disk_full`, `login_not_stored`.
    func replace(with login: StoredLogin, use: () -> Void) throws(UserFacingError) {
        try state.withLock { state throws(UserFacingError) in
            try file.write(login)
            state.live = login
            state.stored = login
            use()
        }
    }

    /// What was removed.
    struct End: Sendable {
        /// The one in use, else the one that the file held.
        var login: StoredLogin?
        var wasInUse: Bool
        /// Why the file's could not be read.
        var failure: UserFacingError?
        var wasThere: Bool { login != nil || failure != nil }
    }

    /// Removes the login, and then lets `use` make none the one in use, where one was.
    ///
    /// - Throws: `login_not_stored`; nothing has changed then.
    func end(use: () -> Void) throws(UserFacingError) -> End {
        try state.withLock { state throws(UserFacingError) in
            var end = End(login: state.live, wasInUse: state.live != nil)
            if !end.wasInUse {
                // One that cannot be read goes too: that is what was asked for.
                do throws(UserFacingError) { end.login = try file.read() } catch { end.failure = error }
            }
            try file.remove()
            state.live = nil
            state.stored = nil
            if end.wasInUse { use() }
            return end
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
