import Glibc

/// Names of users and groups, or `#1234` for one that has none. Reentrant, because the checks of `doctor` run side by side.
package enum UserDatabase {
    package static func user(_ id: UInt32) -> String { withUser(id) { String(cString: $0.pw_name) } ?? "#\(id)" }

    package static func group(_ id: UInt32) -> String {
        var entry = Glibc.group()
        var found: UnsafeMutablePointer<group>?
        var buffer = [CChar](repeating: 0, count: 65_536)
        guard getgrgid_r(id, &entry, &buffer, buffer.count, &found) == 0, found != nil else { return "#\(id)" }
        return String(cString: entry.gr_name)
    }

    /// The user's own group; `nil` where the user has no name.
    static func group(of id: uid_t) -> gid_t? { withUser(id) { $0.pw_gid } }

    private static func withUser<Result>(_ id: uid_t, _ body: (passwd) -> Result) -> Result? {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 65_536)
        guard getpwuid_r(id, &entry, &buffer, buffer.count, &found) == 0, found != nil else { return nil }
        return body(entry)
    }
}
