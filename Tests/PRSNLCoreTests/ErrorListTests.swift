import PRSNLCore
import TestSupport
import Testing

/// docs/errors.md and the code say the same.
struct ErrorListTests {
    /// One code's entry: what it means, perhaps its causes, and at last what to do.
    private struct Entry {
        var code: String
        var lines: [Substring]
    }

    private func entries() throws -> [Entry] {
        var entries: [Entry] = []
        var isInside = false
        for line in try RepositoryFile.text("docs/errors.md").split(separator: "\n") {
            if line.hasPrefix("- **`") {
                let code = String(line.dropFirst(5).prefix { $0 != "`" })
                entries.append(Entry(code: code, lines: [line.dropFirst(code.count + 10)]))
                isInside = true
            } else if line.hasPrefix("#") {
                isInside = false
            } else if isInside {
                entries[entries.count - 1].lines.append(line.drop { $0 == " " })
            }
        }
        return entries
    }

    @Test func everyCodeIsDescribedInTheOrderOfTheCode() throws {
        #expect(try entries().map(\.code) == ErrorCode.allCases.map(\.rawValue))
    }

    @Test func everyCodeHasAnEntryInTheTable() {
        for code in ErrorCode.allCases { #expect(ErrorTraits.table[code] != nil, "\(code)") }
    }

    @Test func everyDescriptionSaysWhatTheCodeSays() throws {
        for entry in try entries() {
            let code = try #require(ErrorCode(rawValue: entry.code), "\(entry.code)")
            #expect(entry.lines.last == "What to do: \(code.recoverySuggestion)", "\(code)")
            #expect(entry.lines[0].count > 20, "\(code): what it means")
        }
    }

    @Test func thePageNamesTheCodesOfEachHeading() throws {
        let page = try RepositoryFile.text("docs/errors.md")
        for heading in [ErrorTraits.Heading.connection, .login, .slowDown] {
            let codes = ErrorCode.allCases.filter { $0.heading == heading.rawValue }
            let cell = codes.map { "`\($0.rawValue)`" }.joined(separator: ", ")
            #expect(page.contains("\n| \(heading.rawValue) | \(cell) |\n"), "\(heading)")
        }
    }
}
