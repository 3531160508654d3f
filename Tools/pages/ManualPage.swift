import Console

/// A manual page in the macros of man(7), which both groff and mandoc read.
struct ManualPage {
    private var lines: [String]

    init(_ name: String, section: Int, date: String) {
        let title = Roff.literal(name.uppercased())
        lines = [
            ".\\\" Written by prsnl-pages from the tables that the programs follow.",
            ".TH \(title) \(section) \(date) \"prsnld \(ProductVersion.current)\"",
            // No hyphenation: options and paths are to be copied.
            ".nh",
        ]
    }

    var source: String { lines.map { $0 + "\n" }.joined() }

    mutating func name(_ name: String, _ summary: String) {
        section("NAME")
        lines.append("\(Roff.literal(name)) \\- \(Roff.text(summary))")
    }

    mutating func section(_ title: String) { lines.append(".SH \(quoted(title))") }
    mutating func subsection(_ title: String) { lines.append(".SS \(quoted(Roff.literal(title)))") }

    /// The first paragraph under a heading stands without a macro; mandoc's lint finds an empty one.
    mutating func paragraph(_ text: String) {
        let follows = lines.last.map { $0.hasPrefix(".SH") || $0.hasPrefix(".SS") } ?? false
        if !follows { lines.append(".PP") }
        lines += Roff.wrapped(Roff.marked(text))
    }

    /// A line of its own, like those of SYNOPSIS.
    mutating func usage(_ text: String) {
        let follows = lines.last.map { $0.hasPrefix(".SH") || $0.hasPrefix(".SS") } ?? false
        if !follows { lines.append(".PP") }
        lines += Roff.wrapped(text)
    }

    /// - Parameters:
    ///   - term: troff already.
    ///   - texts: paragraphs, in the tables' markup.
    mutating func term(_ term: String, _ texts: String...) {
        lines.append(".TP")
        lines.append(Roff.line(term))
        for (index, text) in texts.enumerated() {
            if index > 0 { lines.append(".IP") }
            lines += Roff.wrapped(Roff.marked(text))
        }
    }

    mutating func example(_ text: String, _ commands: String...) {
        paragraph(text)
        lines += [".PP", ".RS 4", ".EX"]
        lines += commands.map { Roff.line(Roff.literal($0)) }
        lines += [".EE", ".RE"]
    }

    mutating func options(_ options: [CommandOption]) {
        for option in options { term(Roff.usage(option.usage), option.summary) }
    }

    mutating func exitStatus(_ table: CommandTable) {
        section("EXIT STATUS")
        for (code, meaning) in table.exitCodes { term(Roff.bold(String(code.rawValue)), meaning) }
    }

    mutating func seeAlso(_ pages: [(name: String, section: Int)], besides text: String) {
        section("SEE ALSO")
        let names = pages.map { "\(Roff.bold($0.name))(\($0.section))" }
        lines += Roff.wrapped(names.joined(separator: ", "))
        paragraph(text)
    }

    private func quoted(_ text: String) -> String { text.contains(" ") ? "\"\(text)\"" : text }
}
