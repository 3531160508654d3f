/// A table of a documentation page, for tests that hold the page to the tables in the code.
package enum MarkdownTable {
    /// The rows of the first table under a heading, without its head; none where there is no such heading.
    package static func rows(_ text: String, under heading: String) -> [String] {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard let start = lines.firstIndex(where: { $0 == heading }) else { return [] }
        return lines[(start + 1)...].drop { !$0.hasPrefix("|") }.prefix { $0.hasPrefix("|") }.dropFirst(2)
            .map(String.init)
    }
}
