import PRSNLCore

/// Pages for a browser that need no server and nothing from elsewhere: one for each item, lists by month and by tag, and a search.
/// What a text has is written by `XHTMLText`, and the policy in each page allows files of this folder alone.
package struct WebPages {
    /// Each file has this in its first bytes, so that none of a person's is written over.
    package static let mark = "Written by prsnld"

    private let title: String
    /// Called with the name of each file, which has one folder at most, and its content.
    private let write: (String, String) throws -> Void
    /// What lists have of each item.
    private var lines: [(day: String, line: String)] = []
    private var tags: [String: [Int]] = [:]
    private var months: [(month: String, first: Int)] = []
    private var words: [String] = []
    private var wordFiles = 0

    private static let itemsPerWordFile = 1_000
    /// The month of a day.
    private static func month(_ day: String) -> String { String(day.prefix(7)) }

    package init(title: String, _ write: @escaping (String, String) throws -> Void) throws {
        (self.title, self.write) = (title, write)
        try write("style.css", "/* \(Self.mark) */\n\(Self.style)")
        try write("search.js", "// \(Self.mark)\n\(Self.search)")
    }

    /// - Parameter item: the newest first.
    package mutating func add(_ item: ReadItem) throws {
        let file = "\(Fingerprint(item.id).hexadecimal).html"
        try write(
            "items/\(file)",
            page(item.title, "<article>\n\(item.xhtml { "../\(Self.file(tag: $0))" })</article>", "../"))
        if months.last?.month != Self.month(item.day) { months.append((Self.month(item.day), lines.count)) }
        for tag in Set(item.tags) { tags[tag, default: []].append(lines.count) }
        lines.append((item.day, "<li><a href=\"items/\(file)\">\(XML.escaped(item.title))</a></li>\n"))
        let text = ([item.title] + item.tags + [item.text ?? item.summary ?? ""]).joined(separator: " ").lowercased()
        let distinct = Set(text.split { !$0.isLetter && !$0.isNumber })
        words.append(JSONText.array(["items/\(file)", item.title, item.day, distinct.sorted().joined(separator: " ")]))
        if words.count == Self.itemsPerWordFile { try endWords() }
    }

    /// The lists, and at last the page that leads to all of them.
    package mutating func end() throws {
        if !words.isEmpty { try endWords() }
        for (index, month) in months.enumerated() {
            let end = index + 1 < months.count ? months[index + 1].first : lines.count
            try write("month-\(month.month).html", page(month.month, list(month.first..<end)))
        }
        for (tag, items) in tags { try write(Self.file(tag: tag), page("#\(tag)", list(items))) }
        try write("index.html", page(title, overview))
    }

    private mutating func endWords() throws {
        // A script, because a page from a file may not read another file.
        try write("words-\(wordFiles).js", "// \(Self.mark)\nprsnl([\(words.joined(separator: ",\n"))]);\n")
        words = []
        wordFiles += 1
    }

    private static func file(tag: String) -> String { "tag-\(Fingerprint(tag).hexadecimal).html" }

    private func list(_ items: some Sequence<Int>) -> String {
        var (text, day) = ("", "")
        for item in items {
            if lines[item].day != day {
                text += (day.isEmpty ? "" : "</ul>\n") + "<h2>\(lines[item].day)</h2>\n<ul>\n"
                day = lines[item].day
            }
            text += lines[item].line
        }
        return text + "</ul>"
    }

    private var overview: String {
        let counts = months.indices.map {
            ($0 + 1 < months.count ? months[$0 + 1].first : lines.count) - months[$0].first
        }
        let most = counts.max() ?? 1
        let bars = zip(months, counts).map { month, count in
            """
            <tr><th><a href="month-\(month.month).html">\(month.month)</a></th>
            <td><progress max="\(most)" value="\(count)"></progress> \(count)</td></tr>

            """
        }
        let names = tags.sorted { ($1.value.count, $0.key) < ($0.value.count, $1.key) }.map { tag, items in
            "<a href=\"\(Self.file(tag: tag))\">#\(XML.escaped(tag))</a>&#160;\(items.count)"
        }
        return """
            <p><input id="words" type="search" placeholder="Search" autofocus="" data-files="\(wordFiles)"/></p>
            <ul id="found"></ul>
            <p>\(Count.text(lines.count, "item"))</p>
            <table>
            \(bars.joined())</table>
            <p class="tags">\(names.joined(separator: " · "))</p>
            <script src="search.js"></script>
            """
    }

    private func page(_ title: String, _ body: String, _ top: String = "") -> String {
        let head =
            top.isEmpty && title == self.title
            ? "" : "<p><a href=\"\(top)index.html\">\(XML.escaped(self.title))</a></p>\n"
        let heading = body.hasPrefix("<article>") ? "" : "<h1>\(XML.escaped(title))</h1>\n"
        return """
            <!DOCTYPE html>
            <html>
            <head><meta charset="utf-8"/>
            <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'self'; script-src 'self'; base-uri 'none'; form-action 'none'"/>
            <meta name="generator" content="\(Self.mark)"/><meta name="viewport" content="width=device-width"/><meta name="referrer" content="no-referrer"/>
            <title>\(XML.escaped(title))</title><link rel="stylesheet" href="\(top)style.css"/></head>
            <body>
            \(head)\(heading)\(body)
            </body></html>

            """
    }

    private static let style = """
        :root { color-scheme: light dark; --line: #8886; }
        body { font: 1.05rem/1.6 Georgia, serif; max-width: 42rem; margin: 2rem auto; padding: 0 1rem; overflow-wrap: break-word; }
        h1, h2, h3, h4 { line-height: 1.25; } h2 { font-size: 1.05rem; }
        a { color: light-dark(#1d4f91, #9cc4ff); text-decoration: none; } a:hover { text-decoration: underline; }
        .facts, .tags { font-size: 0.85rem; opacity: 0.8; }
        pre { white-space: pre-wrap; } pre, code { font-size: 0.9rem; }
        blockquote { margin: 1rem 0; padding-left: 1rem; border-left: 3px solid var(--line); }
        article table { border-collapse: collapse; } article td, article th { border: 1px solid var(--line); padding: 0.2rem 0.5rem; }
        #words { font: inherit; width: 100%; box-sizing: border-box; padding: 0.4rem; } progress { width: 16rem; max-width: 50vw; }

        """

    private static let search = """
        "use strict";
        const box = document.getElementById("words"), found = document.getElementById("found"), items = [];
        let next = 0;
        const fold = text => text.normalize("NFKD").replace(/\\p{M}/gu, "").toLowerCase();
        function load() {
          if (next == Number(box.dataset.files)) return;
          const part = document.createElement("script");
          part.src = `words-${next++}.js`;
          document.head.append(part);
        }
        function prsnl(part) {
          for (const [file, title, day, words] of part) items.push([file, title, day, " " + fold(words)]);
          search();
          load();
        }
        function search() {
          const words = fold(box.value).split(/[^\\p{L}\\p{N}]+/u).filter(word => word);
          const hits = words.length ? items.filter(item => words.every(word => item[3].includes(" " + word))) : [];
          found.replaceChildren(...hits.slice(0, 200).map(([file, title, day]) => {
            const line = document.createElement("li"), link = document.createElement("a");
            link.href = file;
            link.textContent = title;
            line.append(link, " " + day);
            return line;
          }));
        }
        box.addEventListener("input", () => { if (next == 0) load(); search(); });
        // An address that ends with `#words` is a search.
        if (location.hash) box.value = decodeURIComponent(location.hash.slice(1));
        if (box.value) load();

        """
}
