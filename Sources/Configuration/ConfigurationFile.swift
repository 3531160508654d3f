import CLinux
import Glibc
import PRSNLCore

/// The lines of a configuration file: `key = value`, `#` comments, nothing else.
struct ConfigurationFile {
    struct Entry: Equatable {
        let line: Int
        let key: String
        let value: String
    }

    let path: String
    private(set) var entries: [Entry] = []
    private(set) var problems: [ConfigurationProblem] = []

    /// A configuration is a page of text. Something far larger is another file.
    static let maximumSize = 1 << 20

    init(path: String, bytes: [UInt8]) {
        self.path = path
        var bytes = bytes[...]
        // Some editors put a byte order mark in front.
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { bytes = bytes.dropFirst(3) }
        var number = 0
        for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            number += 1
            read(line, number)
        }
    }

    private mutating func read(_ bytes: ArraySlice<UInt8>, _ line: Int) {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            return report(line, nil, "this line is not UTF-8")
        }
        let content = Self.withoutComment(text)
        if content.isEmpty { return }
        guard let equals = content.firstIndex(of: "=") else {
            return report(line, nil, "this line is neither `key = value` nor a comment (#)")
        }
        let key = content[..<equals].trimmed
        guard !key.isEmpty else { return report(line, nil, "this line has no key before the =") }
        entries.append(Entry(line: line, key: key, value: content[content.index(after: equals)...].trimmed))
    }

    /// A `#` begins a comment at the start of the line and after white space, so that a path may contain one.
    private static func withoutComment(_ line: String) -> String {
        var previous: Character = " "
        for index in line.indices {
            if line[index] == "#", previous.isWhitespace { return line[..<index].trimmed }
            previous = line[index]
        }
        return line[...].trimmed
    }

    private mutating func report(_ line: Int, _ key: String?, _ reason: String) {
        problems.append(ConfigurationProblem(origin: .file(path, line: line), key: key, reason: reason))
    }
}

extension Substring {
    var trimmed: String {
        var text = self.drop(while: \.isWhitespace)
        while let last = text.last, last.isWhitespace { text.removeLast() }
        return String(text)
    }
}

/// Reading a whole small file, with the reason where that fails.
enum SmallFile {
    struct Failure: Error {
        let errno: Int32
        let reason: String

        /// Of the call that has just failed.
        static var last: Failure { Failure(errno: Glibc.errno, reason: String(cString: strerror(Glibc.errno))) }
    }

    /// Reads the open file to its end, but no more than `limit` bytes.
    static func read(_ descriptor: Int32, limit: Int) throws(Failure) -> [UInt8] {
        let (content, code) = Descriptors.read(descriptor, atMost: limit)
        guard code == 0 else { throw Failure(errno: code, reason: String(cString: strerror(code))) }
        guard content.count <= limit else { throw Failure(errno: EFBIG, reason: "larger than \(limit >> 10) KiB") }
        return content
    }

    /// Writes all of it.
    static func write(_ bytes: [UInt8], to descriptor: Int32) throws(Failure) {
        let code = bytes.withUnsafeBytes { Descriptors.write($0, to: descriptor) }
        if code != 0 { throw Failure(errno: code, reason: String(cString: strerror(code))) }
    }

    /// Opens for reading, as root with the rights of the user whose folder it is in. O_NONBLOCK keeps a FIFO without a writer
    /// from blocking the program.
    static func open(_ path: String) throws(Failure) -> Int32 {
        let opened: Result<Int32, Failure>
        do throws(UserFacingError) {
            opened = try FolderOwner.run(beside: path) { path throws(UserFacingError) in
                let descriptor = prsnl_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0)
                return descriptor >= 0 ? .success(descriptor) : .failure(.last)
            }
        } catch {
            throw Failure(errno: ELOOP, reason: String(error.message.dropLast()))
        }
        return try opened.get()
    }
}

/// Quotation marks around a value, which people write as they would in a shell.
enum Quotation {
    static let marks: [Character] = ["\"", "'"]

    /// What stands between two equal marks. A value without any is kept as it is.
    static func strip(_ text: String) throws(Rejection) -> String {
        guard let first = text.first, let last = text.last, marks.contains(first) || marks.contains(last) else {
            return text
        }
        guard text.count > 1, first == last, !text.dropFirst().dropLast().contains(first) else {
            throw Rejection("has a quotation mark that does not stand around the whole value with another one")
        }
        return String(text.dropFirst().dropLast())
    }
}
