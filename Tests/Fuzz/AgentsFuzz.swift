import PRSNLCore

@testable import Commands
@testable import Configuration
@testable import Console
@testable import PRSNLClient
@testable import Store

/// What other programs say to prsnlctl: a language model's client, and a reader of changes.
extension FuzzTarget {
    /// One that only reads, of a small copy, and one that may write, without a copy.
    private static let servers = [("prsnl.sqlite", false), ("none/prsnl.sqlite", true)].map {
        name, allowsWrites -> MCPServer in
        let folder = SmallCopy.shared.folder
        let options = ["--database", "\(folder)/\(name)", "--socket", "\(folder)/none.sock"]
        do throws(UserFacingError) {
            let context = try CommandContext(
                try ParsedArguments(options + ["mcp"], table: .prsnlctl),
                ProcessEnvironment(workingDirectory: folder, homeDirectory: folder), judgesConfiguration: false)
            return MCPServer(context: context, allowsWrites: allowsWrites)
        } catch { fatalError(error.message) }
    }

    static let mcp = FuzzTarget(name: "mcp") { bytes in
        // As the reader of lines hands them on.
        let line = Array(bytes.prefix { $0 != 0x0A })
        let names = JSONChecks.members(line)?.map { ByteText($0.name) } ?? []
        let asked = Set(names).count == names.count ? try? JSONValue.parse(line) : nil
        for server in servers {
            guard let reply = server.reply(to: line) else {
                let isBlank = line.allSatisfy { [0x20, 0x09, 0x0D].contains($0) }
                let isRequest = ![nil, .null].contains(asked?["id"]) && asked?["method"]?.text != nil
                require(isBlank || !isRequest, "no answer")
                continue
            }
            check(reply, to: asked)
        }
    }

    private static func check(_ reply: String, to asked: JSONValue?) {
        require(!reply.utf8.contains { $0 == 0x0A || $0 == 0x0D }, "more than one line: \(reply)")
        guard let answer = try? JSONValue.parse(Array(reply.utf8)), case .object(let members) = answer else {
            fatalError("no JSON object: \(reply)")
        }
        require(answer["jsonrpc"]?.text == "2.0" && members.count == 3, "no message: \(reply)")
        require((answer["result"] == nil) != (answer["error"] == nil), "neither a result nor an error: \(reply)")
        switch (asked?["id"], answer["id"]) {
        case (.string(let sent)?, .string(let id)?): require(ByteText(sent) == ByteText(id), "another id: \(reply)")
        case (.number(let sent)?, .number(let id)?): require(Double(sent) == Double(id), "another id: \(reply)")
        // One that cannot be read has none.
        case (_, .null?): require(answer["error"] != nil, "a result of nothing: \(reply)")
        default: require(asked == nil, "an answer to a notification: \(reply)")
        }
    }

    /// The text of `--since`, the name of a cursor, and its file.
    static let changeCursor = FuzzTarget(name: "change-cursor") { bytes in
        let text = String(decoding: bytes, as: UTF8.self)
        if let place = ChangePlace(text) { check(place) }
        do throws(UserFacingError) {
            let time = try TimeWord.parse(text, now: SmallCopy.now, option: "--since")
            require(time >= .earliest && time <= .latest, "a time that cannot be: \(time.microseconds)")
            require(try TimeWord.parse(time.description, now: SmallCopy.now, option: "--since") == time, "\(time)")
        } catch {
            require(error.code == .usage, "refused as \(error.code)")
            require(SafeText.harmless(error.message) == error.message, "not fit for a terminal: \(error.message)")
        }
        if Cursor.isName(text) {
            require(text.utf8.count <= 64 && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x2F }, text)
            // The files beside it are no other reader's.
            for end in Cursor.endings { require(!Cursor.isName(text + end), "the name of its own file: \(text)\(end)") }
        }
        func lines(_ text: String) -> [String] { text.split(separator: "\n").map(String.init) }
        guard var (place, database) = Cursor.parse(lines(text)) else { return }
        check(place)
        database = SafeText.harmless(database)
        guard let again = Cursor.parse(lines(Cursor.text(place, database))) else { fatalError("cannot be read again") }
        require(again.place == place && ByteText(again.database) == ByteText(database), "reads as another: \(again)")
    }

    private static func check(_ place: ChangePlace) {
        require(place.epoch.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "an epoch: \(place.epoch)")
        let again = ChangePlace(place.description)
        require(again?.epoch == place.epoch && again?.seq == place.seq, "reads as another: \(place)")
        do throws(UserFacingError) {
            _ = try SmallCopy.ask { reader throws(UserFacingError) in try reader.changes(after: place, limit: 3) }
        } catch { fatalError("\(error.code): \(error.message) \(place)") }
    }
}
