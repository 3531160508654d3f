import PRSNLCore
import TestSupport
import Testing

/// docs/errors.md and the code say the same.
struct ErrorListTests {
    /// One code's section.
    private struct Section {
        var code: String
        var lines: [String] = []

        func value(_ label: String) -> String? {
            lines.first { $0.hasPrefix("\(label): ") }.map { String($0.dropFirst(label.count + 2)) }
        }
    }

    private func sections() throws -> [Section] {
        let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        let text = try TestFile.text("/\(root)/docs/errors.md")
        var sections: [Section] = []
        var isInside = false
        for line in text.split(separator: "\n") {
            if line.hasPrefix("### `") {
                sections.append(Section(code: String(line.dropFirst(5).dropLast())))
                isInside = true
            } else if line.hasPrefix("#") {
                isInside = false
            } else if isInside {
                sections[sections.count - 1].lines.append(String(line))
            }
        }
        return sections
    }

    @Test func everyCodeIsDescribedInTheOrderOfTheCode() throws {
        #expect(try sections().map(\.code) == ErrorCode.allCases.map(\.rawValue))
    }

    @Test func everyCodeHasAnEntryInTheTable() {
        for code in ErrorCode.allCases { #expect(ErrorTraits.table[code] != nil, "\(code)") }
    }

    @Test func everyDescriptionSaysWhatTheCodeSays() throws {
        for section in try sections() {
            let code = try #require(ErrorCode(rawValue: section.code), "\(section.code)")
            // The usual heading is said once, at the top of the page.
            let usual = ErrorTraits.Heading.other.rawValue
            #expect(section.value("Heading") == (code.heading == usual ? nil : code.heading), "\(code)")
            #expect(section.value("What to do") == code.recoverySuggestion.description, "\(code)")
            #expect(section.value("Command") == code.nextCommand.map { "`\($0)`" }, "\(code)")
            #expect(section.value("Typical causes")?.isEmpty == false, "\(code)")
            let labels = ["Heading: ", "What to do: ", "Command: ", "Typical causes: "]
            let meaning = section.lines.filter { line in !labels.contains { line.hasPrefix($0) } }
            #expect(meaning.joined().count > 20, "\(code): what it means")
        }
    }
}
