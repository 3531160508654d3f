import Glibc
package import PRSNLCore

extension Store {
    /// Most readers come and go within milliseconds. Others are not waited for longer than that.
    private static let setAsideAttempts = 20
    private static let setAsidePause: UInt32 = 25_000  // microseconds

    /// Renames the file, beside its own place, and closes it: a new copy can be started at `path`.
    ///
    /// Before rename(2) the file is the copy, after it there is none. So that the rename moves everything, the write-ahead
    /// log is first brought into the file and removed. That also lets anyone open the file who may read it. No other
    /// program may have the file open: SQLite finds a database's log by its name
    /// (https://sqlite.org/howtocorrupt.html, 2.4), so such a reader would go on with the new copy's log.
    ///
    /// The lock is held until the end. The store is closed afterwards, also where this fails.
    ///
    /// - Parameter number: from 1, for as long as there is a file of that name: an older one is never replaced.
    /// - Returns: where the file is now.
    /// - Throws: `database_busy` where another program has the file open, `database_replaced`, `disk_full`, `disk_error`.
    ///   The copy is then as it was.
    package func setAside(as name: @Sendable (_ number: Int) -> String) throws(UserFacingError) -> String {
        defer { close() }
        CrashPoint.beforeSetAside.reach()
        // As in `closeFile`: a file that was not closed must be checked by the next process.
        if !wasStoppedUncleanly {
            try write(durably: true) { connection in
                try connection.execute("UPDATE copy SET stopped_cleanly = 1")
            }
            markedOpen = false
        }
        try leaveLog()
        CrashPoint.afterLeavingLog.reach()
        try checkIdentity(ofLog: false)
        // No descriptor of the file may outlive its name, and SQLite would look for a log beside the new one.
        letGoOfFile()
        defer { unlock() }
        let target = try rename(to: name)
        CrashPoint.afterSetAside.reach()
        // So that the name survives a power cut. What was renamed is renamed, also where this fails: it is only said.
        if Descriptors.synchronizeFolder(of: path) != 0 {
            log(.warning, .store, "\(Descriptors.folder(of: path)) could not be synchronized")
        }
        return target
    }

    private func leaveLog() throws(UserFacingError) {
        letGoOfStatements()
        for attempt in 1... {
            do {
                try connection?.leaveWriteAheadLog()
                return
            } catch {
                let failure = error.userFacing(path: path)
                guard failure.code == .databaseBusy else { throw failure }
                guard attempt < Self.setAsideAttempts else {
                    throw UserFacingError(
                        .databaseBusy, "Another program has the database \(path) open.",
                        consequence: "Nothing was changed: the copy is as it was.",
                        recoverySuggestion:
                            "Close it, and give the command again; `fuser -v \(path)` as root names the program.")
                }
            }
            usleep(Self.setAsidePause)
        }
    }

    private func rename(to name: (Int) -> String) throws(UserFacingError) -> String {
        let target = name(SetAsideName.firstFree(name))
        // Under the lock, no prsnld creates the file in between.
        guard access(target, F_OK) != 0, errno == ENOENT, Glibc.rename(path, target) == 0 else {
            throw .ofDisk(
                "\(path) cannot be renamed to \(target)", consequence: "Nothing was changed: the copy is as it was.")
        }
        return target
    }
}

/// What a copy is called that was set aside: `prsnl-ada@example.org-2026-11-21.sqlite`.
package enum SetAsideName {
    private static let longestName = 64

    /// - Parameters:
    ///   - path: of the database.
    ///   - owner: the account, or the server's host where there is none.
    ///   - number: from 2, a counter behind the date.
    package static func path(beside path: String, owner: String, at time: Timestamp, number: Int) -> String {
        let slash = path.lastIndex(of: "/")
        let folder = slash.map { path[...$0] } ?? ""
        let file = slash.map { path[path.index(after: $0)...] } ?? path[...]
        let dot = file.lastIndex(of: ".").flatMap { $0 == file.startIndex ? nil : $0 }
        let stem = dot.map { file[..<$0] } ?? file
        let ending = dot.map { file[$0...] } ?? ""
        let counter = number > 1 ? "-\(number)" : ""
        return "\(folder)\(stem)-\(safe(owner))-\(time.description.prefix(10))\(counter)\(ending)"
    }

    package static func firstFree(_ name: (Int) -> String) -> Int {
        var number = 1
        while access(name(number), F_OK) == 0 { number += 1 }
        return number
    }

    /// Letters, digits and what stands in addresses: nothing that a shell, a file system or a terminal takes for more.
    static func safe(_ text: String) -> String {
        let kept = text.unicodeScalars.prefix(longestName).map { scalar -> Character in
            let isPlain = scalar.isASCII && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar))
            return isPlain || "@._+-".unicodeScalars.contains(scalar) ? Character(scalar) : "_"
        }
        return kept.isEmpty ? "unknown" : String(kept)
    }
}
