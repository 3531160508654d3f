import Commands
import Console
import TestSupport

/// What prsnl-pages writes, in a folder of its own.
struct WrittenPages {
    static let date = "2026-11-21"
    let folder = TemporaryDirectory("pages")
    var path: String { folder.file("pages") }

    init() async throws { try await Tool.run("\(Tool.binaries())/prsnl-pages", [path, Self.date]) }

    func file(_ name: String) -> String { "\(path)/\(name)" }

    static let manuals = ["man/prsnld.8", "man/prsnlctl.1", "man/prsnld.conf.5"]
    static let programs: [CommandTable] = [.prsnld, .prsnlctl]

    /// A manual page as it is read, in lines that do not break.
    func rendered(_ manual: String) async throws -> [String] {
        // -P -cbou: letters alone, without the marks of bold and underlined.
        let arguments = ["-ww", "-man", "-Tascii", "-P", "-cbou", "-rLL=3000n", file(manual)]
        return Tool.lines(try await Tool.run("groff", arguments).output)
    }

    /// The lines of a section (`OPTIONS`) or of a subsection in it, up to the next heading of the same kind or above.
    static func section(_ heading: String, of lines: [String], indent: Int = 0) -> [String] {
        let full = String(repeating: " ", count: indent) + heading
        guard let start = lines.firstIndex(of: full) else { return [] }
        return Array(lines[(start + 1)...].prefix { $0.prefix { $0 == " " }.count > indent })
    }

    /// Whether a term and its text stand there: on one line where the term is short, else below each other.
    static func has(_ term: String, _ text: String, in lines: [String]) -> Bool {
        let plain = text.filter { $0 != "`" }
        for (index, line) in lines.enumerated() {
            let trimmed = line.drop { $0 == " " }
            guard trimmed.hasPrefix(term) else { continue }
            let rest = trimmed.dropFirst(term.count)
            let below = index + 1 < lines.count ? lines[index + 1].drop { $0 == " " } : ""
            let said = rest.isEmpty ? below : rest.first == " " ? rest.drop { $0 == " " } : ""
            // troff sets two spaces after a full stop at the end of a line of its source.
            if words(String(said)) == words(plain) { return true }
        }
        return false
    }

    private static func words(_ text: String) -> [Substring] { text.split(separator: " ") }
}
