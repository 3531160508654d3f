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
            return report(line, "this line is not UTF-8")
        }
        let content = Self.withoutComment(text)
        if content.isEmpty { return }
        guard let equals = content.firstIndex(of: "=") else {
            return report(line, "this line is neither `key = value` nor a comment (#)")
        }
        let key = content[..<equals].trimmed
        guard !key.isEmpty else { return report(line, "this line has no key before the =") }
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

    private mutating func report(_ line: Int, _ reason: String) {
        problems.append(ConfigurationProblem(origin: .file(path, line: line), key: nil, reason: reason))
    }
}

extension Substring {
    var trimmed: String { String(trimming(\.isWhitespace)) }
}

/// Reading a whole small file, with the reason where that fails.
enum SmallFile {
    struct Failure: Error {
        let errno: Int32
        let reason: String

        /// Of the call that has just failed.
        static var last: Failure { Failure(Glibc.errno) }
    }

    /// Reads the open file to its end, but no more than `limit` bytes.
    static func read(_ descriptor: Int32, limit: Int) throws(Failure) -> [UInt8] {
        let (content, code) = Descriptors.read(descriptor, atMost: limit)
        guard code == 0 else { throw Failure(code) }
        guard content.count <= limit else { throw Failure(errno: EFBIG, reason: "larger than \(limit >> 10) KiB") }
        return content
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

extension SmallFile.Failure {
    init(_ code: Int32) { self.init(errno: code, reason: String(cString: strerror(code))) }
}

/// Quotation marks around a value, which people write as they would in a shell.
enum Quotation {
    /// What stands between two equal marks. A value without any is kept as it is.
    static func strip(_ text: String) throws(Rejection) -> String {
        let marks: [Character] = ["\"", "'"]
        guard let first = text.first, let last = text.last, marks.contains(first) || marks.contains(last) else {
            return text
        }
        guard text.count > 1, first == last, !text.dropFirst().dropLast().contains(first) else {
            throw Rejection("has a quotation mark that does not stand around the whole value with another one")
        }
        return String(text.dropFirst().dropLast())
    }
}
