import Glibc

/// A new empty directory, removed with all that is in it when the last reference goes.
package final class TemporaryDirectory: Sendable {
    /// Absolute, without a slash at the end.
    package let path: String

    package init(_ name: String = "prsnl") {
        let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(parent)/\(name)-XXXXXX".utf8CString)
        guard let made = mkdtemp(&template), let resolved = realpath(made, nil) else {
            preconditionFailure("no temporary directory in \(parent): \(String(cString: strerror(errno)))")
        }
        path = String(cString: resolved)
        free(resolved)
    }

    /// The path of an entry, which need not exist.
    package func file(_ name: String) -> String { "\(path)/\(name)" }

    deinit {
        Self.removeTree(path)
    }

    /// Never follows a symbolic link: unlink(2) is tried first.
    private static func removeTree(_ path: String) {
        if unlink(path) == 0 { return }
        guard let folder = opendir(path) else { return }
        var names: [String] = []
        while let entry = readdir(folder) {
            names.append(
                withUnsafePointer(to: &entry.pointee.d_name) { name in
                    name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                })
        }
        closedir(folder)
        for name in names where name != "." && name != ".." { removeTree("\(path)/\(name)") }
        rmdir(path)
    }
}

/// Whole files, for tests.
package enum TestFile {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    package static func read(_ path: String) throws -> [UInt8] {
        guard let file = fopen(path, "re") else { throw failure("open", path) }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while case let count = fread(&chunk, 1, chunk.count, file), count > 0 { bytes += chunk[..<count] }
        guard ferror(file) == 0 else { throw failure("read", path) }
        return bytes
    }

    package static func text(_ path: String) throws -> String { String(decoding: try read(path), as: UTF8.self) }

    /// Creates or replaces a file. The mode is set exactly, whatever the umask is.
    package static func write(_ text: String, to path: String, mode: UInt32 = 0o600) throws {
        try write(Array(text.utf8), to: path, mode: mode)
    }

    package static func write(_ bytes: [UInt8], to path: String, mode: UInt32 = 0o600) throws {
        guard let file = fopen(path, "we") else { throw failure("create", path) }
        let written = fwrite(bytes, 1, bytes.count, file)
        guard fclose(file) == 0, written == bytes.count, chmod(path, mode) == 0 else { throw failure("write", path) }
    }

    package static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    /// Removes a file; throws where there is none.
    package static func remove(_ path: String) throws {
        guard unlink(path) == 0 else { throw Failure(description: "\(path): \(String(cString: strerror(errno)))") }
    }

    private static func failure(_ operation: String, _ path: String) -> Failure {
        Failure(description: "\(operation) \(path): \(String(cString: strerror(errno)))")
    }
}
