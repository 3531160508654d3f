import Configuration
import Control
import Glibc
import PRSNLCore

/// A person's own searches: lines `name = query` in `~/.config/prsnld/searches`. `@name` stands for one wherever a query may stand.
enum SavedSearches {
    /// A search may name others, so deep at most.
    private static let deepest = 8

    /// - Throws: `usage` for a name that is not there.
    static func expand(_ query: String, _ context: CommandContext) throws(UserFacingError) -> String {
        guard query.contains("@") else { return query }
        var expanded = query
        for _ in 0..<deepest {
            let next = try expandOnce(expanded, context)
            if next == expanded { return next }
            expanded = next
        }
        throw UserFacingError(
            .usage, "The saved searches of \(SafeText.harmless(query)) name each other without an end.")
    }

    /// Each counts as one, whatever stands beside it.
    private static func expandOnce(_ query: String, _ context: CommandContext) throws(UserFacingError) -> String {
        var isQuoted = false
        var words: [String] = []
        for word in query.split(separator: " ", omittingEmptySubsequences: false) {
            let front = word.prefix { $0 == "(" || $0 == "-" }
            let name = word.dropFirst(front.count + 1).prefix { $0.isLetter || $0.isNumber || $0 == "-" }
            let rest = word.dropFirst(front.count + 1 + name.count)
            let isName =
                !isQuoted && word.dropFirst(front.count).first == "@" && !name.isEmpty && rest.allSatisfy { $0 == ")" }
            words.append(isName ? front + "(\(try search(String(name), context)))" + rest : String(word))
            if word.count(where: { $0 == "\"" }) % 2 == 1 { isQuoted.toggle() }
        }
        return words.joined(separator: " ")
    }

    private static func search(_ name: String, _ context: CommandContext) throws(UserFacingError) -> String {
        let all = try all(context)
        if let found = all.last(where: { $0.name == name }) { return found.query }
        let path = try path(context)
        let names = all.isEmpty ? "" : " There are \(all.map { "@\($0.name)" }.joined(separator: ", "))."
        throw UserFacingError(
            .usage, "There is no saved search @\(name) in \(path).\(names)",
            recoverySuggestion: "Write a line there: \(name) = words to search for.")
    }

    static func all(_ context: CommandContext) throws(UserFacingError) -> [(name: String, query: String)] {
        try read(try path(context))
    }

    private static func path(_ context: CommandContext) throws(UserFacingError) -> String {
        guard let own = DefaultPaths.ownConfiguration(context.environment) else {
            throw UserFacingError(.usage, "There is no home directory that could have saved searches.")
        }
        return Folder.containing(own) + "/searches"
    }

    private static func read(_ path: String) throws(UserFacingError) -> [(name: String, query: String)] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        if descriptor < 0, errno == ENOENT { return [] }
        let form: Advice = "It is a text in UTF-8 with lines such as: later = tag:later -tag:done"
        guard descriptor >= 0 else {
            throw UserFacingError(
                .usage, "\(path) cannot be read: \(String(cString: strerror(errno))).", recoverySuggestion: form)
        }
        defer { close(descriptor) }
        let text: String
        do throws(UserFacingError) { text = try TextInput.all(of: descriptor, path) } catch {
            throw UserFacingError(.usage, error.message, recoverySuggestion: form)
        }
        return text.split(whereSeparator: \.isNewline).compactMap { line in
            guard let equals = line.firstIndex(of: "="), line.first != "#" else { return nil }
            let name = line[..<equals].filter { !$0.isWhitespace }
            let query = line[line.index(after: equals)...].drop(while: \.isWhitespace)
            return name.isEmpty || query.isEmpty ? nil : (name, String(query))
        }
    }
}
