import CLinux
import Glibc
import PRSNLCore
import Synchronization

/// The rows of a server that outlive it, as a database's do: every change of an item is a line of JSON, written when it is
/// made and before it is answered.
///
/// `kill -9` of the server loses nothing that was applied, because a written line is the kernel's. It is not fsynced: the
/// machine is not lost in these tests. A line that was cut off is the last one, and is ignored at the next start.
final class RowJournal: Sendable {
    private let file: Int32
    private let now: @Sendable () -> Timestamp
    /// How far ahead of `now` the server's clock is.
    private let ahead: Mutex<Duration>
    /// On whose behalf rows are changed at the moment.
    private let cause = Mutex(Cause())

    private struct Cause {
        var key: String?
        var request: String?
        var client = "server"
    }

    /// - Throws: `Failure` where the file cannot be opened.
    init(path: String, now: @escaping @Sendable () -> Timestamp, ahead: Duration) throws(DevServer.Failure) {
        file = prsnl_open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw DevServer.Failure(description: "cannot open \(path): errno \(errno)") }
        self.now = now
        self.ahead = Mutex(ahead)
        endLine()
        setClock(ahead: ahead)
    }

    deinit { close(file) }

    /// What follows is done for this request. `nil`: by the server itself.
    func begin(_ request: HTTPRequest?) {
        cause.withLock { cause in
            cause.key = request?.headers["idempotency-key"]
            cause.request = request?.headers["x-request-id"]
            cause.client = request.map { $0.headers["x-client"] ?? "http" } ?? "server"
        }
    }

    func put(_ item: DevItem, hidden: Bool) {
        write("put", id: item.id) { object, line in
            object.bool("hidden", hidden, &line)
            item.appendRow(to: &object, &line)
        }
    }

    func remove(_ id: String) { write("remove", id: id) }

    /// Notes a fault, for those who count them.
    func fault(_ name: String, of request: HTTPRequest) {
        begin(request)
        write("fault", id: nil) { object, line in
            object.string("fault", name, &line)
            object.string("method", request.method, &line)
            object.string("path", request.path, &line)
        }
    }

    /// What follows is dated by a clock that is so far ahead.
    func setClock(ahead: Duration) {
        self.ahead.withLock { $0 = ahead }
        write("clock", id: nil) { object, line in
            object.number("ahead", Int(ahead.wholeMicroseconds), &line)
        }
    }

    /// The rows are now what they were when this journal was so many bytes long.
    func restored(to size: Int) {
        write("restore", id: nil) { object, line in object.number("size", size, &line) }
    }

    /// A login's token, so that a login outlives the server too.
    func token(_ token: String, isRefresh: Bool, of account: String, until end: Timestamp) {
        write("token", id: nil) { object, line in
            object.string("token", token, &line)
            object.bool("is_refresh", isRefresh, &line)
            object.string("account", account, &line)
            object.number("until", Int(end.microseconds), &line)
        }
    }

    /// A refresh token that is worth nothing any more.
    func spent(_ token: String) {
        write("spent", id: nil) { object, line in object.string("token", token, &line) }
    }

    private func write(
        _ operation: String, id: String?, _ more: (inout JSONObjectWriter, inout [UInt8]) -> Void = { _, _ in }
    ) {
        var line: [UInt8] = []
        var object = JSONObjectWriter(&line)
        object.string("op", operation, &line)
        // The server's time, and the time that no step changes.
        let real = now()
        object.number("at", Int(real.advanced(by: ahead.withLock { $0 }).microseconds), &line)
        object.number("real", Int(real.microseconds), &line)
        cause.withLock { cause in
            object.string("client", cause.client, &line)
            object.string("key", cause.key, &line)
            object.string("request", cause.request, &line)
        }
        object.string("id", id, &line)
        more(&object, &line)
        object.end(&line)
        line.append(UInt8(ascii: "\n"))
        append(line)
    }

    /// One write(2) a line, so that a kill cuts no line in two, unless the disk is full.
    private func append(_ line: [UInt8]) {
        var rest = line[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            if count < 0 { return }
            rest = rest.dropFirst(count)
        }
    }

    /// A line that was cut off must not spoil the one after it.
    private func endLine() {
        var last: UInt8 = 0
        let size = lseek(file, 0, SEEK_END)
        if size > 0, pread(file, &last, 1, size - 1) == 1, last != UInt8(ascii: "\n") { append([UInt8(ascii: "\n")]) }
    }

    // MARK: Reading

    struct Row: Sendable {
        var item: DevItem
        var isHidden: Bool
    }

    struct Token: Sendable {
        var account: String
        var isRefresh: Bool
        var expiresAt: Timestamp
    }

    struct Contents: Sendable {
        var rows: [Row] = []
        var tokens: [String: Token] = [:]
        var lineCount = 0
    }

    /// What the lines so far come to.
    ///
    /// - Parameter size: so many bytes of them.
    func contents(size: Int = .max) -> Contents {
        var contents = Contents()
        var rows: [String: Row] = [:]
        for line in bytes().prefix(size).split(separator: UInt8(ascii: "\n")) {
            contents.lineCount += 1
            // What was cut off is no JSON.
            guard let value = try? JSONValue(Array(line)), case .object(let members) = value else { continue }
            if let token = members["token"]?.string {
                contents.tokens[token] = Token(members)
                continue
            }
            guard let id = members["id"]?.string else { continue }
            switch members["op"]?.string {
            case "put":
                guard let item = DevItem(row: members, id: id) else { continue }
                rows[id] = Row(item: item, isHidden: members["hidden"] == .bool(true))
            case "remove": rows[id] = nil
            default: break
            }
        }
        contents.rows = Array(rows.values)
        return contents
    }

    private func bytes() -> [UInt8] {
        let size = max(0, Int(lseek(file, 0, SEEK_END)))
        return [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            while count < size {
                let read = pread(file, buffer.baseAddress! + count, size - count, off_t(count))
                if read < 0, errno == EINTR { continue }
                if read <= 0 { return }
                count += read
            }
        }
    }
}

extension RowJournal.Token {
    /// `nil` for one that is spent.
    fileprivate init?(_ members: [String: JSONValue]) {
        guard let account = members["account"]?.string, case .number(let text)? = members["until"],
            let end = Int64(text)
        else { return nil }
        self.init(
            account: account, isRefresh: members["is_refresh"] == .bool(true),
            expiresAt: Timestamp(microseconds: end))
    }
}

extension DevItem {
    fileprivate func appendRow(to object: inout JSONObjectWriter, _ line: inout [UInt8]) {
        object.number("created", Int(createdAt.microseconds), &line)
        object.number("updated", Int(updatedAt.microseconds), &line)
        object.string("title", title, &line)
        object.string("content", content, &line)
        object.string("hidden_content", hiddenContent, &line)
        object.string("transcription", transcription, &line)
        object.string("metadata", metadata, &line)
        object.string("url", url, &line)
        object.string("summary", summary, &line)
        object.string("type", type, &line)
        object.number("duration", duration, &line)
        object.string("status", status, &line)
        object.strings("tags", tags, &line)
        for text in Self.texts { object.string(text.name, self[keyPath: text.here], &line) }
        object.string("owner", owner, &line)
    }

    fileprivate init?(row: [String: JSONValue], id: String) {
        func number(_ name: String) -> Int64? {
            if case .number(let text)? = row[name] { Int64(text) } else { nil }
        }
        guard let created = number("created"), let updated = number("updated"), let title = row["title"]?.string,
            let type = row["type"]?.string, let status = row["status"]?.string, let owner = row["owner"]?.string,
            case .array(let tags)? = row["tags"]
        else { return nil }
        self.init(
            id: id, createdAt: Timestamp(microseconds: created), updatedAt: Timestamp(microseconds: updated),
            title: title, type: type, status: status, tags: tags.compactMap(\.string), owner: owner)
        content = row["content"]?.string
        hiddenContent = row["hidden_content"]?.string
        transcription = row["transcription"]?.string
        metadata = row["metadata"]?.string
        url = row["url"]?.string
        summary = row["summary"]?.string
        duration = number("duration").map { Int($0) }
        for text in Self.texts { self[keyPath: text.here] = row[text.name.description]?.string }
    }
}
