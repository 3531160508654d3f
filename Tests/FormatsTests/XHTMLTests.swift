import Formats
import PRSNLCore
import TestSupport
import Testing

/// What becomes of a text of the server in a book, on a page and in a feed.
@Suite struct XHTMLTests {
    @Test(arguments: [
        // Plain text keeps its lines.
        ("one\ntwo & <three>", nil),
        ("one\ntwo\n\n  \nthree & four", "<p>one<br/>\ntwo</p>\n<p>three &amp; four</p>\n"),
        ("\u{1}a\u{FFFE}\u{7}b", "<p>ab</p>\n"),
        // Markdown.
        ("# A\n\n**b** `c`", "<h2>A</h2>\n\n<p><strong>b</strong> <code>c</code></p>\n\n"),
        ("[a](https://example.org/) [b](javascript:alert(1))", "<p><a href=\"https://example.org/\">a</a> b</p>\n\n"),
        ("- a\n- b", "<ul><li>a</li>\n<li>b</li>\n</ul>\n\n"), ("![A picture](x.png)", "<p>[A picture]</p>\n\n"),
        // HTML, whatever is wrong with it.
        ("<p>a<p>b</p>", "<p>a</p>\n<p>b</p>\n"),
        ("<p><b>a<i>b</b>c</i></p>", "<p><strong>a<em>b</em></strong>c</p>\n"),
        ("<div>a<script>x</script><style>y</style><iframe>z</iframe>b</div>", "ab"),
        ("</ul><li>a</li><p>b</p>", "<p>a</p>\n<p>b</p>\n"),
        ("<ul>a<li>b</ul><p>c</p>", "<ul><li>a</li>\n<li>b</li>\n</ul>\n<p>c</p>\n"),
        ("<table></table><p>a</p>", "<table><tr><td></td>\n</tr>\n</table>\n<p>a</p>\n"),
        ("<p onclick='x' style='y' class='z'>a</p>", "<p>a</p>\n"),
        (
            "<p><a href='https://example.org/a b?x=[1]&amp;y=%zz%20'>a</a></p>",
            "<p><a href=\"https://example.org/a%20b?x=%5B1%5D&amp;y=%25zz%20\">a</a></p>\n"
        ),
        ("<p><a href='https://example.org/1'>a<a href='https://example.org/2'>b</a></p>", nil),
        (
            "<p><a href='https://example.org/#!/a#b'>a</a></p>",
            "<p><a href=\"https://example.org/#!/a%23b\">a</a></p>\n"
        ),
        ("<p>a<br>b<hr>c</p>", "<p>a<br/>b</p>\n<hr/>c"),
    ]) func aTextBecomesTheSameSmallLanguage(text: String, expected: String?) throws {
        let made = try XHTMLText.of(text)
        if let expected { #expect(made == expected) }
        try expectSafe(made)
    }

    @Test func whatIsTooDeepBecomesPlainText() throws {
        let made = try XHTMLText.of("<div>" + String(repeating: "<b>", count: 400) + "deep</div>")
        #expect(made.hasPrefix("<p>&lt;div&gt;&lt;b&gt;"))
    }

    /// Parts of what people and attackers write, put together by chance.
    @Test func whateverATextTriesOnlyTheLanguageIsWritten() throws {
        let parts = [
            "<p>", "</p>", "<ul>", "</ul>", "<li>", "</li>", "<table>", "<tr>", "<td>", "</table>",
            "<a href='https://example.org/'>",
            "<a href=\"javascript:x\">", "</a>", "<script>", "</script>", "<b>", "</i>", "<blockquote>",
            "</blockquote>", "<pre>",
            "<svg onload=x>", "</svg>", "<h1>", "</h2>", "&lt;", "&#0;", "&#x1F600;", "<!--", "-->", "<![CDATA[", "]]>",
            "<", ">", "\"",
            "'", "text ", "\n", "\n\n", "* ", "# ", "`", "| a | b |\n|---|---|\n", "> ", "[a](b)", "\u{0}", "é",
            "<img alt=x>",
            "<style>", "<q>", "<dl><dt>", "<iframe>", "<br>", "<hr>", "</div>", "<?xml?>", "<x:y>", "</", "<a b=\"",
        ]
        var random = SeededRandom()
        for _ in 1...3_000 {
            let text = (0..<Int.random(in: 1...25, using: &random)).map { _ in parts.randomElement(using: &random) ?? ""
            }
            let whole = (Bool.random(using: &random) ? "<div>" : "") + text.joined()
            do { try expectSafe(try XHTMLText.of(whole)) } catch { Issue.record("\(whole): \(error)") }
        }
    }

    private struct Unsafe: Error { let reason: String }

    /// Balanced, with elements and attributes of the language alone.
    private func expectSafe(_ text: String) throws {
        let elements: Set<Substring> = [
            "p", "h2", "h3", "h4", "h5", "h6", "pre", "blockquote", "ul", "ol", "li", "table", "tr", "td", "th", "a",
            "em", "strong",
            "code", "sub", "sup", "del", "q", "cite",
        ]
        var open: [Substring] = []
        var rest = text[...]
        while let start = rest.firstIndex(of: "<") {
            guard let end = rest[start...].firstIndex(of: ">") else {
                throw Unsafe(reason: "a tag is not closed: \(text)")
            }
            let tag = rest[rest.index(after: start)..<end]
            rest = rest[rest.index(after: end)...]
            if tag == "br/" || tag == "hr/" { continue }
            if tag.hasPrefix("/") {
                guard open.popLast() == tag.dropFirst() else { throw Unsafe(reason: "</\(tag)> ends nothing: \(text)") }
                continue
            }
            let name = tag.prefix { $0 != " " }
            let attributes = tag.dropFirst(name.count)
            let isLink = name == "a" && attributes.wholeMatch(of: #/ href="https?://[^"<>\s]*"/#) != nil
            guard elements.contains(name), attributes.isEmpty || isLink else {
                throw Unsafe(reason: "<\(tag)>: \(text)")
            }
            open.append(name)
        }
        guard open.isEmpty else { throw Unsafe(reason: "\(open) stay open: \(text)") }
        let isControl: (Unicode.Scalar) -> Bool = { $0.value < 0x20 && !"\t\n\r".unicodeScalars.contains($0) }
        guard !text.unicodeScalars.contains(where: isControl) else {
            throw Unsafe(reason: "a control character: \(text)")
        }
    }
}
