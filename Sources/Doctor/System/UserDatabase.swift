import Glibc

/// Names of users and groups, or `#1234` for one that has none. Reentrant, because checks run side by side.
enum UserDatabase {
    static func user(_ id: uid_t) -> String {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 65_536)
        guard getpwuid_r(id, &entry, &buffer, buffer.count, &found) == 0, found != nil else { return "#\(id)" }
        return String(cString: entry.pw_name)
    }

    static func group(_ id: gid_t) -> String { withGroup(id) { String(cString: $0.gr_name) } ?? "#\(id)" }

    /// Whether the group's list, as it is now, names the user.
    static func group(_ id: gid_t, lists user: String) -> Bool {
        withGroup(id) { entry in
            var member = entry.gr_mem
            while let name = member?.pointee {
                if String(cString: name) == user { return true }
                member = member?.advanced(by: 1)
            }
            return false
        } ?? false
    }

    private static func withGroup<Result>(_ id: gid_t, _ body: (group) -> Result) -> Result? {
        var entry = Glibc.group()
        var found: UnsafeMutablePointer<group>?
        var buffer = [CChar](repeating: 0, count: 65_536)
        guard getgrgid_r(id, &entry, &buffer, buffer.count, &found) == 0, found != nil else { return nil }
        return body(entry)
    }
}
