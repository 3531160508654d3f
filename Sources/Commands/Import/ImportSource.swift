import Formats
import Glibc
import PRSNLCore
import Requests

/// A file or a folder of another service.
enum ImportSource {
    /// Bytes of a file: more than a whole account with its texts.
    private static let largest = 1 << 30
    private static let suffixes = [".csv", ".json", ".jsonl", ".html", ".htm", ".txt", ".zip"]

    /// - Parameter path: of a file or a folder; `-` for stdin.
    /// - Throws: `import_unreadable`.
    static func read(_ path: String) throws(UserFacingError) -> ImportFile {
        guard path != "-" else { return try ImportFile(try bytes(of: STDIN_FILENO, "stdin"), "stdin") }
        let file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else { throw failure(path, errno) }
        defer { close(file) }
        var information = stat()
        guard fstat(file, &information) == 0 else { throw failure(path, errno) }
        guard information.st_mode & S_IFMT == S_IFDIR else {
            return try ImportFile(try bytes(of: file, path), path.split(separator: "/").last.map(String.init) ?? path)
        }
        // Its parts in their order. Folders in it have texts, and no parts.
        var whole: ImportFile?
        var others: [UserFacingError] = []
        let entries = try OpenFolder(named: path).entries().sorted { $0.name < $1.name }
        for (name, isFile) in entries {
            let isKnown = suffixes.contains { name.lowercased().hasSuffix($0) }
            guard isKnown || isFile else { continue }
            do throws(UserFacingError) {
                guard isKnown else {
                    let known = suffixes.dropLast().joined(separator: ", ")
                    throw ImportFile.refusal("\(name) ends with none of \(known).")
                }
                let inner = open("\(path)/\(name)", O_RDONLY | O_NONBLOCK | O_CLOEXEC)
                guard inner >= 0 else { throw failure(name, errno) }
                defer { close(inner) }
                let part = try ImportFile(try bytes(of: inner, name), name)
                if whole?.add(part) == nil { whole = part }
            } catch {
                guard error.code == .importUnreadable else { throw error }
                others.append(error)
            }
        }
        guard var whole else { throw others.first ?? ImportFile.refusal("\(path) has no file of a known form.") }
        whole.others = others.map(\.message)
        return whole
    }

    private static func bytes(of file: Int32, _ name: String) throws(UserFacingError) -> [UInt8] {
        let (bytes, code) = Descriptors.read(file, atMost: largest)
        guard code == 0 else { throw failure(name, code) }
        guard bytes.count <= largest else { throw ImportFile.refusal("\(name) has more than \(largest >> 30) GiB.") }
        return bytes
    }

    private static func failure(_ path: String, _ code: Int32) -> UserFacingError {
        UserFacingError(
            .importUnreadable, "\(path) cannot be read: \(String(cString: strerror(code))).",
            consequence: WritesRequest.refused,
            recoverySuggestion: code == EACCES || code == EPERM
                ? "Give it to `prsnlctl import -` on stdin, from a program that may read it." : nil)
    }
}
