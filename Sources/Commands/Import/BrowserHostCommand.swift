import Console
import Glibc
import PRSNLCore
import Requests

/// `prsnlctl browser-host`: captures what a browser's extension sends. It speaks native messaging
/// (https://developer.mozilla.org/docs/Mozilla/Add-ons/WebExtensions/Native_messaging): on stdin and stdout, each message is JSON
/// behind its length, four bytes in the machine's order. It can capture, and nothing else.
enum BrowserHostCommand {
    static let command = Command(
        "browser-host", "Capture the pages that a browser's extension sends on stdin (native messaging).",
        examples: [("--install", "Tell this user's browsers where it is.")],
        options: [CommandOption("--install", nil, "Write the manifests for Firefox, Chromium and Chrome.")],
        hasJSON: false
    ) { context, arguments throws(UserFacingError) in
        if arguments.has("--install") { return try BrowserManifest.install(context) }
        while let message = try read() {
            let answer = Result { () throws(UserFacingError) in try capture(message, context) }
            var object = JSONFields()
            switch answer {
            case .success((let entry, let leftOut)):
                object.add("queued", "#\(entry)")
                if !leftOut.isEmpty { object.add("left_out", leftOut.joined(separator: " ")) }
            case .failure(let error): object.add("error", "\(error.message) \(error.recoverySuggestion)")
            }
            let size = withUnsafeBytes(of: UInt32(object.bytes.count)) { Array($0) }
            let code = (size + object.bytes).withUnsafeBytes { Descriptors.write($0, to: STDOUT_FILENO) }
            if code != 0 { return .error }
        }
        return .fine
    }

    /// Bytes. A whole page may be marked.
    private static let longest = 16 << 20

    /// `nil` at the end.
    private static func read() throws(UserFacingError) -> [UInt8]? {
        let head = bytes(4)
        if head.isEmpty { return nil }
        let size = head.reversed().reduce(0) { $0 << 8 | Int($1) }
        guard head.count == 4, size <= longest else { throw refusal("The message is too long.") }
        let message = bytes(size)
        guard message.count == size else { throw refusal("The message is cut off.") }
        return message
    }

    /// Fewer where stdin ends.
    private static func bytes(_ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, done in
            while done < count {
                let read = Glibc.read(STDIN_FILENO, buffer.baseAddress.map { $0 + done }, count - done)
                if read < 0, errno == EINTR { continue }
                guard read > 0 else { return }
                done += read
            }
        }
    }

    private static func refusal(_ message: String) -> UserFacingError {
        UserFacingError(.writeInvalid, message, consequence: WritesRequest.refused)
    }

    /// - Returns: the entry in the outbox, and what was left out of it.
    private static func capture(
        _ message: [UInt8], _ context: CommandContext
    ) throws(UserFacingError) -> (Int64, [String]) {
        let item: NewItem
        do {
            item = try JSONReader.read(whole: message) { reader in
                let fields = try JSONFields(&reader)
                try fields.check(allowed: ["url", "title", "selection"], known: [])
                let url = try fields.text("url")
                return NewItem(url: url ?? "", title: try fields.text("title"), note: try fields.text("selection"))
            }
        } catch let failure as JSONFields.Failure {
            throw refusal("\(failure.reason).")
        } catch {
            throw refusal("The message is not a JSON object: \(error).")
        }
        // No person can correct a title that is too long; a selection is cut.
        var cut = item
        cut.note = item.note.map { String($0.unicodeScalars.prefix(WriteLimits.remark.upperBound)) }
        var (taken, leftOut) = try cut.taken(dialect: TagWords.dialect(context))
        if cut.note != item.note {
            leftOut.append("The selection is cut to \(Formatting.count(WriteLimits.remark.upperBound)) characters.")
        }
        var outbox = RequestClient(context)
        let report: WriteReport
        do throws(Unwritten) { report = try WriteFlow.write(RequestClient.keyed([.create(taken)]), &outbox) } catch {
            throw error.userFacing
        }
        if let entry = report.writes.first?.entry { return (entry, leftOut) }
        throw report.writes.first?.error ?? refusal("Nothing was queued.")
    }
}

/// What tells a browser where the host is, and which extension may start it.
private enum BrowserManifest {
    private static let name = "org.prsnld.capture"
    /// Of Tools/browser: its id in Firefox, and what Chromium makes of its key.
    private static let firefox = "capture@prsnld", chromium = "gmnefjbeaeeaphgipeeiibfahejdibog"

    static func install(_ context: CommandContext) throws(UserFacingError) -> ExitCode {
        let home = context.environment.absolute(context.environment.variables["HOME"] ?? ".")
        // A manifest names a program, and no arguments.
        let program = "\(home)/.local/share/prsnld/browser-host"
        let words = [RealPath.of("/proc/self/exe")] + context.unit.options + ["browser-host"]
        try write("#!/bin/sh\nexec \(ShellText.words(words))\n", to: program, mode: 0o755)
        let browsers: [(folder: String, hosts: String, isFirefox: Bool)] = [
            (".mozilla", "native-messaging-hosts", true), (".config/chromium", "NativeMessagingHosts", false),
            (".config/google-chrome", "NativeMessagingHosts", false),
        ]
        var files: [String] = []
        for browser in browsers where access("\(home)/\(browser.folder)", F_OK) == 0 {
            var object = JSONFields()
            object.add("name", name)
            object.add("description", "Captures pages with prsnld.")
            object.add("path", program)
            object.add("type", "stdio")
            let origin = browser.isFirefox ? firefox : "chrome-extension://\(chromium)/"
            object.add(browser.isFirefox ? "allowed_extensions" : "allowed_origins", [origin])
            files.append("\(home)/\(browser.folder)/\(browser.hosts)/\(name).json")
            try write(object.json + "\n", to: files[files.count - 1], mode: 0o644)
        }
        guard !files.isEmpty else {
            throw UserFacingError(
                .exportFolder, "\(home) has no folder of Firefox, Chromium or Chrome.",
                consequence: "Nothing was installed.",
                recoverySuggestion: "Start the browser once, then give the command again.")
        }
        return try context.print(files.map { "written: \($0)\n" }.joined())
    }

    private static func write(_ text: String, to path: String, mode: UInt32) throws(UserFacingError) {
        _ = try OpenFolder(named: Descriptors.folder(of: path))
        guard let reason = WholeFile.replace(path, by: text, mode: mode) else { return }
        throw UserFacingError(
            .exportFolder, "\(path) cannot be written: \(reason).", consequence: "Nothing was installed.")
    }
}
