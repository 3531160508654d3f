import TestSupport

/// A file of the source tree, by its path from the root.
enum RepositoryFile {
    static func text(_ path: String, here: String = #filePath) throws -> String {
        let root = here.split(separator: "/", omittingEmptySubsequences: false).dropLast(3).joined(separator: "/")
        return try TestFile.text("\(root)/\(path)")
    }
}
