import PRSNLCore
import TestSupport
import Testing

@testable import Store

/// docs/schema.md against the file itself.
@Suite struct SchemaPageTests {
    /// A view has a heading, `## View …`, and its columns stand in the first column of the table below it. The tables of one
    /// subject share a table, of which the first column has the name.
    private func documented() throws -> [String: Set<String>] {
        var pages: [String: Set<String>] = [:]
        var view: String?
        for line in try RepositoryFile.text("docs/schema.md").split(separator: "\n") {
            if line.hasPrefix("## ") {
                view = Self.code(in: line).first
            } else if line.hasPrefix("| `") {
                let cells = line.split(separator: "|")
                guard let name = view ?? Self.code(in: cells[0]).first else { continue }
                pages[name, default: []].formUnion(Self.code(in: cells[view == nil ? 1 : 0]))
            }
        }
        return pages
    }

    /// What stands between back-ticks.
    private static func code(in text: Substring) -> [String] {
        text.split(separator: "`", omittingEmptySubsequences: false).enumerated().filter { $0.offset % 2 == 1 }
            .map { String($0.element) }
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
