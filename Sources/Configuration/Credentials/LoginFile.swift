import Glibc
package import PRSNLCore

/// A login as it is stored: a pair is never sent to another server than the one that gave it out.
package struct StoredLogin: Sendable, Equatable {
    /// As `ServerURL.text` has it.
    package var server: String
    package var pair: TokenPair

    package init(server: String, pair: TokenPair) {
        self.server = server
        self.pair = pair
    }

    /// - Throws: `login_other_server`.
    package func check(isFor server: ServerURL) throws(UserFacingError) {
        guard self.server != server.text else { return }
        throw UserFacingError(
            .loginOtherServer, "The stored login is of \(self.server), and server_url is \(server.text).",
            consequence: "The login was not sent.")
    }
}

/// The file beside the database that holds the login: `<database>.login`, mode 0600.
///
/// The server makes the old pair worthless in the moment in which it gives out a new one, so the file must hold one of the two
/// whole at every moment: a new one is written under another name, brought to the disk, and put in its place by rename(2).
package struct LoginFile: Sendable {
    package let path: String
    private var temporaryPath: String { WholeFile.next(path) }

    /// Two tokens and a URL. Something larger is another file.
    private static let maximumSize = 64 << 10
    private static let version = "1"

    package init(database: String) { path = RealPath.of(database) + ".login" }

    /// Whether something is there, readable or not.
    package var exists: Bool { access(path, F_OK) == 0 }

    // MARK: Reading

    /// - Returns: `nil` where there is none.
    /// - Throws: `login_file_unreadable`, `key_file_exposed`. No error holds any of the content.
    package func read() throws(UserFacingError) -> StoredLogin? {
        let descriptor: Int32
        do throws(SmallFile.Failure) {
            descriptor = try SmallFile.open(path)
        } catch {
            if error.errno == ENOENT || error.errno == ENOTDIR { return nil }
            throw unreadable("it cannot be opened: \(error.reason)", errno: error.errno)
        }
        defer { close(descriptor) }
        try SecretFile.check(descriptor, "The login file", path, unreadable: { unreadable($0) })
        let bytes: [UInt8]
        do throws(SmallFile.Failure) {
            bytes = try SmallFile.read(descriptor, limit: Self.maximumSize)
        } catch {
            throw unreadable("it cannot be read: \(error.reason)")
        }
        guard let login = Self.parse(bytes) else {
            throw unreadable("it does not hold a login that this version of prsnld understands")
        }
        return login
    }

    private func unreadable(_ reason: String, errno: Int32 = 0) -> UserFacingError {
        UserFacingError(
            .of(errno: errno, otherwise: .loginFileUnreadable), "The login file \(path) cannot be used: \(reason).")
    }

    static func parse(_ bytes: [UInt8]) -> StoredLogin? {
        var texts: [String: String] = [:]
        var numbers: [String: String] = [:]
        do {
            try JSONReader.read(whole: bytes) { reader in
                try reader.object { name, reader in
                    switch try reader.kind() {
                    case .string: texts[name] = try reader.string()
                    case .number: numbers[name] = try reader.numberText()
                    default: try reader.skip()
                    }
                }
            }
        } catch {
            return nil  // cut off, or not ours
        }
        // A file of an earlier version does not say.
        let life = numbers["access_life"].flatMap { Int32($0) }.map { Duration.seconds($0) }
        guard numbers["version"] == Self.version, let server = texts["server"], let access = texts["access_token"],
            let refresh = texts["refresh_token"], let pair = TokenPair(access: access, refresh: refresh, life: life)
        else { return nil }
        return StoredLogin(server: server, pair: pair)
    }

    // MARK: Writing

    /// Puts a login in the place of the one that is there. When it returns, the disk has it. When it throws, the old one is
    /// unharmed.
    ///
    /// - Throws: `disk_full`, `login_not_stored`.
    package func write(_ login: StoredLogin) throws(UserFacingError) {
        try FolderOwner.run(beside: path) { _ throws(UserFacingError) in try replace(login) }
    }

    static func text(_ login: StoredLogin) -> String {
        "{\"version\":\(version),\"server\":\(JSONText.string(login.server)),"
            + "\"access_token\":\(JSONText.string(login.pair.access)),"
            + "\"refresh_token\":\(JSONText.string(login.pair.refresh))"
            + (login.pair.life.map { ",\"access_life\":\($0.components.seconds)" } ?? "") + "}\n"
    }

    private func replace(_ login: StoredLogin) throws(UserFacingError) {
        do throws(SmallFile.Failure) {
            // Left by a process that died while it wrote. No one else writes here: there is one daemon per database.
            if unlink(temporaryPath) != 0, errno != ENOENT { throw .last }
            let code = WholeFile.write(path, Self.text(login), isKept: true) { CrashPoint.beforeLoginRename.reach() }
            if code != 0 { throw SmallFile.Failure(code) }
            try syncFolder()
            CrashPoint.afterLoginRename.reach()
        } catch {
            throw UserFacingError(
                error.errno == ENOSPC || error.errno == EDQUOT ? .diskFull : .loginNotStored,
                "The login could not be written to \(path): \(error.reason).")
        }
    }

    /// Removes the login, and what a process left that died while it wrote one.
    ///
    /// - Throws: `login_not_stored`.
    package func remove() throws(UserFacingError) {
        try FolderOwner.run(beside: path) { _ throws(UserFacingError) in
            do throws(SmallFile.Failure) {
                for path in [temporaryPath, path] where unlink(path) != 0 && errno != ENOENT { throw .last }
                try syncFolder()
            } catch {
                throw UserFacingError(.loginNotStored, "The login file \(path) could not be removed: \(error.reason).")
            }
        }
    }

    /// Removes what a process left that died while it wrote. Called once, before the file is used.
    package func cleanUp() throws(UserFacingError) {
        try FolderOwner.run(beside: path) { _ throws(UserFacingError) in
            guard unlink(temporaryPath) != 0, errno != ENOENT, errno != ENOTDIR else { return }
            let reason = String(cString: strerror(errno))
            throw UserFacingError(.loginNotStored, "The file \(temporaryPath) could not be removed: \(reason).")
        }
    }

    private func syncFolder() throws(SmallFile.Failure) {
        let code = Descriptors.synchronizeFolder(of: path)
        if code != 0 { throw SmallFile.Failure(code) }
    }
}
