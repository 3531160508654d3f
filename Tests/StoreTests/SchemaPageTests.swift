import PRSNLCore
import TestSupport
import Testing

@testable import Store

/// docs/schema.md against the file itself.
@Suite struct SchemaPageTests {
    /// The first column of the tables under each `## View …` or `## Table …` heading.
    private func documented() throws -> [String: Set<String>] {
        let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        var pages: [String: Set<String>] = [:]
        var current: String?
        for line in try TestFile.text("/\(root)/docs/schema.md").split(separator: "\n") {
            if line.hasPrefix("## ") {
                let parts = line.split(separator: "`")
                current = parts.count > 1 ? String(parts[1]) : nil
                if let current { pages[current] = [] }
            } else if let current, line.hasPrefix("| `") {
                let cell = line.split(separator: "|", omittingEmptySubsequences: true)[0]
                for (index, part) in cell.split(separator: "`", omittingEmptySubsequences: false).enumerated()
                where index % 2 == 1 {
                    pages[current]?.insert(String(part))
                }
            }
        }
        return pages
    }

    @Test func thePageHasTheNumberOfTheSchema() throws {
        #expect(
            try RepositoryFile.text("docs/schema.md").contains("is the schema's number (\(Schema.current.version))"))
    }

    @Test func everyTableAndColumnIsDocumentedAndNothingElseIs() async throws {
        let fixture = StoreFixture()
        let store = try fixture.open()
        await store.close()
        let names = try #require(
            try fixture.query(
                """
                SELECT group_concat(name) FROM sqlite_schema
                WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite%' AND name NOT LIKE 'search_index_%'
                """
            ))
        var actual: [String: Set<String>] = [:]
        for name in names.split(separator: ",").map(String.init) {
            let columns = try #require(
                try fixture.query("SELECT group_concat(name) FROM pragma_table_info('\(name)')"))
            actual[name] = Set(columns.split(separator: ",").map(String.init))
        }
        #expect(try documented() == actual)
    }

    @Test func theUsefulQuestionsAreAnswered() async throws {
        let fixture = StoreFixture()
        let store = try fixture.open()
        try await store.commit(StoreFixture.page([StoreFixture.item(1)]))
        let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        let questions = try TestFile.text("/\(root)/docs/schema.md").split(separator: "\n")
            .filter { $0.hasPrefix("    SELECT") }
        #expect(questions.count >= 7)
        for question in questions { _ = try fixture.query(String(question)) }
        await store.close()
    }
}
