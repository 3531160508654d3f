import Console
import Glibc
import PRSNLCore
import Store

/// `prsnlctl open`: an item in the browser.
enum OpenCommand {
    static let command = Command(
        "open", "Open an item's address in the browser.", operands: .one("ID"), onlyReads: true
    ) {
        context, arguments throws(UserFacingError) in
        let reader = try StoreReader(path: context.paths.database)
        let item = try reader.item(arguments.operands[0]).item
        guard let url = try address(of: item, reader) else {
            throw UserFacingError(
                .noURL, "The item \(item.id) has no address in the web.",
                nextCommand: NextCommand(["prsnlctl", "show", item.id]))
        }
        guard context.isText, let browser = browser(context.environment.variables) else {
            try context.write(AddressReport(url: url))
            if context.isText { context.say("there is no desktop here; this is the address") }
            return .fine
        }
        try run(browser, url)
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

    /// In the place of this process, and without a shell, to which an address could be a command.
    private static func run(_ browser: String, _ url: String) throws(UserFacingError) {
        var words = [strdup(browser), strdup(url), nil]
        execvp(browser, &words)
        let reason = String(cString: strerror(errno))
        for word in words { free(word) }
        throw UserFacingError(
            .noURL, "\(SafeText.harmless(browser)) could not be started: \(reason).",
            recoverySuggestion: "Open \(url) yourself, or name another program in BROWSER.")
    }
}
