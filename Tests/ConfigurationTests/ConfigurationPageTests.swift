import Configuration
import PRSNLCore
import TestSupport
import Testing

/// docs/configuration.md is held to the tables in the code.
@Suite struct ConfigurationPageTests {
    @Test func thePageDocumentsEveryKeyAndNoOther() throws {
        let text = try RepositoryFile.text("docs/configuration.md")
        let rows = ConfigurationKey.all.map { key in
            "| `\(key.name)` | \(key.type) | \(key.defaultText) | \(key.allowed) | \(key.summary) | \(key.effect.rawValue) |"
        }
        #expect(MarkdownTable.rows(text, under: "## Keys") == rows)
    }

    @Test func theKeyFilesErrorsAreThoseOfTheCode() throws {
        let text = try RepositoryFile.text("docs/configuration.md")
        let rows = MarkdownTable.rows(text, under: "## The key file")
        let codes: [ErrorCode] = [.keyFileUnreadable, .keyFileExposed, .keyFileInvalid]
        #expect(rows.map { $0.split(separator: "`")[1] } == codes.map { Substring($0.rawValue) })
    }
}
