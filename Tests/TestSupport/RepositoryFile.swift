/// A file of the source tree, by its path from the root.
package enum RepositoryFile {
    package static func text(_ path: String, here: String = #filePath) throws -> String {
        try TestFile.text(absolute(path, here))
    }

    package static func write(_ text: String, to path: String, here: String = #filePath) throws {
        try TestFile.write(text, to: absolute(path, here))
    }

    /// The root of the source tree, without a slash at its end.
    package static func root(_ here: String = #filePath) -> String {
        here.split(separator: "/", omittingEmptySubsequences: false).dropLast(3).joined(separator: "/")
    }

    private static func absolute(_ path: String, _ here: String) -> String { root(here) + "/" + path }
}
