import Configuration
import Glibc
import PRSNLCore
import Store

/// A person's own searches: lines `name = query` in `~/.config/prsnld/searches`. `@name` stands for one wherever a query may stand.
enum SavedSearches {
    /// - Throws: `usage` for a name that is not there.
    static func query(
        _ words: String, and filter: ItemFilter = ItemFilter(), _ context: CommandContext
    ) throws(UserFacingError) -> SearchQuery {
        var query = try SearchQuery(words, now: TimeSource.system.now()) { name throws(UserFacingError) in
            try search(name, context)
        }
        query.require(filter)
        return query
    }

    /// What was probably meant, where nothing was found.
    static func suggestions(
        for query: SearchQuery, typed words: String, and filter: ItemFilter = ItemFilter(), _ reader: StoreReader,
        _ context: CommandContext
    ) throws(UserFacingError) -> [String] {
        try reader.suggestions(for: query, typed: words) { words throws(UserFacingError) in
            try !reader.search(try Self.query(words, and: filter, context), limit: 1).items.isEmpty
        }
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
        return Descriptors.folder(of: own) + "/searches"
    }

    private static func read(_ path: String) throws(UserFacingError) -> [(name: String, query: String)] {
        let text: String
        do throws(UserFacingError) { text = try WholeFile.text(of: path) ?? "" } catch {
            throw UserFacingError(
                .usage, error.message,
                recoverySuggestion: "It is a text in UTF-8 with lines such as: later = tag:later -tag:done")
        }
        return parse(text)
    }

    static func parse(_ text: String) -> [(name: String, query: String)] {
        text.split(whereSeparator: \.isNewline).compactMap { line in
            // With an accent behind it, a sign or a space is another Character.
            let signs = line.unicodeScalars
            guard let equals = signs.firstIndex(of: "="), signs.first != "#" else { return nil }
            let name = line[..<equals].filter { !$0.isWhitespace }
            let query = signs[equals...].dropFirst().drop(while: \.properties.isWhitespace)
            return SearchQuery.isName(name) && !query.isEmpty ? (name, String(query)) : nil
        }
    }
}
