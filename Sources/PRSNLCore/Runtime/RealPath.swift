import Glibc

/// The one path of a file, whichever links lead to it.
///
/// What stands beside a database (its lock, its log, the login) is named after the database, so that two names of one file
/// would give it two locks.
package enum RealPath {
    /// As many links in a row as the kernel follows (path_resolution(7)).
    static let mostLinks = 40

    /// The file need not exist, nor what a link leads to. What cannot be resolved stays as it is. For root, so does what leads out
    /// of the folders of the user whose link it is.
    package static func of(_ path: String) -> String {
        let owner = FolderOwner(path)
        do throws(UserFacingError) {
            let real = try owner.run { resolve(owner.path) }
            return FolderOwner(real).isSame(as: owner) ? real : owner.path
        } catch {
            return owner.path
        }
    }

    private static func resolve(_ path: String) -> String {
        var path = path
        for _ in 0..<mostLinks {
            if let real = resolved(path) { return real }
            // Not there yet, or a link to something that is not.
            let folder = Descriptors.folder(of: path)
            guard let target = link(path) else {
                let name = path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
                guard !name.isEmpty, let real = resolved(folder) else { return path }
                return real == "/" ? "/\(name)" : "\(real)/\(name)"
            }
            path = target.hasPrefix("/") ? target : "\(folder)/\(target)"
        }
        return path
    }

    package static func isSameFile(_ left: String, _ right: String) -> Bool {
        var first = stat()
        var second = stat()
        guard stat(left, &first) == 0, stat(right, &second) == 0 else { return left == right }
        return first.st_dev == second.st_dev && first.st_ino == second.st_ino
    }

    static func resolved(_ path: String) -> String? {
        guard let real = realpath(path, nil) else { return nil }
        defer { free(real) }
        return String(cString: real)
    }

    /// What a link says; `nil` for what is none.
    static func link(_ path: String) -> String? {
        var target = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(path, &target, target.count)
        return count > 0 ? String(decoding: target[..<count].map { UInt8(truncatingIfNeeded: $0) }, as: UTF8.self) : nil
    }
}
