import Console
import Glibc
import PRSNLCore
import Store

/// `prsnlctl open`: items in the browser.
enum OpenCommand {
    static let command = Command(
        "open", "Open the addresses of items in the browser.",
        examples: [("59ec6da4 07d81c3e", "Two pages in the browser.")], operands: .some("ID", most: 20),
        onlyReads: true
    ) { context, arguments throws(UserFacingError) in
        let reader = try context.reader()
        // All are looked up before the first is opened.
        var urls: [String] = []
        for id in arguments.operands {
            let item = try reader.item(id).item
            guard let url = try address(of: item, reader) else {
                throw UserFacingError(
                    .noURL, "The item \(item.id) has no address in the web.",
                    nextCommand: NextCommand(["prsnlctl", "show", item.id]))
            }
            urls.append(url)
        }
        let isLent = context.terminalBorrower != nil
        guard context.isText, !isLent, let browser = browser(context.environment.variables) else {
            for url in urls { try context.write(AddressReport(url: url)) }
            let reason = isLent ? "no browser is started on root's terminal" : "there is no desktop here"
            if context.isText { context.say("\(reason); open this yourself") }
            return .fine
        }
        var process: pid_t = 0
        for url in urls { process = try start(browser, url) }
        // One that needs the terminal keeps it.
        waitpid(process, nil, 0)
        return .fine
    }

    /// Its own, or that of its page on the server. Only what a browser opens as a page: what a server sends could be the name of
    /// a file, or a script.
    private static func address(of item: TimelineItem, _ reader: StoreReader) throws(UserFacingError) -> String? {
        if let url = item.url, TextStyle.isWebAddress(url) { return url }
        guard let path = item.permalink, path.hasPrefix("/"), !path.hasPrefix("//"), let server = try reader.serverURL()
        else { return nil }
        let page = (server.hasSuffix("/") ? String(server.dropLast()) : server) + path
        return TextStyle.isWebAddress(page) ? page : nil
    }

    /// `$BROWSER` (its first entry, without options that name the address), else the desktop's own.
    private static func browser(_ environment: [String: String]) -> String? {
        if let chosen = environment["BROWSER"]?.split(separator: ":").first, !chosen.isEmpty { return String(chosen) }
        let hasDesktop = ["DISPLAY", "WAYLAND_DISPLAY"].contains { environment[$0]?.isEmpty == false }
        return hasDesktop ? "xdg-open" : nil
    }

    /// Without a shell, to which an address could be a command.
    private static func start(_ browser: String, _ url: String) throws(UserFacingError) -> pid_t {
        var words = [strdup(browser), strdup(url), nil]
        defer { for word in words { free(word) } }
        var process: pid_t = 0
        let code = posix_spawnp(&process, browser, nil, nil, &words, environ)
        guard code == 0 else {
            throw UserFacingError(
                .noURL, "\(SafeText.harmless(browser)) could not be started: \(String(cString: strerror(code))).",
                recoverySuggestion: "Open \(url) yourself, or name another program in BROWSER.")
        }
        return process
    }
}
