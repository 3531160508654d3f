internal import CFormats
package import PRSNLCore

/// XML that this program writes (XML 1.0, UTF-8).
package enum XML {
    /// As text or as an attribute's value. What XML 1.0 (2.2) has no place for is left out.
    package static func escaped(_ text: String) -> String {
        var bytes: [UInt8] = []
        append(text, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    static func append(_ text: String, to bytes: inout [UInt8]) {
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": bytes.append(contentsOf: "&amp;".utf8)
            case "<": bytes.append(contentsOf: "&lt;".utf8)
            case ">": bytes.append(contentsOf: "&gt;".utf8)
            case "\"": bytes.append(contentsOf: "&quot;".utf8)
            case "\t", "\n", "\r": bytes.append(UInt8(scalar.value))
            case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{FFFE}", "\u{FFFF}": continue
            default: bytes.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
            }
        }
    }
}

/// The text of an item, which is HTML, Markdown or plain, as XHTML that may stand in a `div`.
///
/// What is written is made of the elements below, and of no other: it is the same small language whatever the text tries. Of
/// attributes only the address of a link to a page is taken over. All else that a text has becomes text, or goes.
package struct XHTMLText {
    private var bytes: [UInt8] = []
    /// The elements that are open.
    private var open: [String] = []
    /// Elements inside one whose content is not shown.
    private var hidden = 0

    /// - Throws: `library_missing`.
    package static func of(_ text: String) throws(UserFacingError) -> String {
        guard !isPlain(text) else { return plain(text) }
        var html: [UInt8] = Array(text.utf8)
        if !isHTML(text) {
            guard let made = try Markdown.html(text) else { return plain(text) }
            html = made
        }
        var result = XHTMLText()
        guard try HTMLReader.read(html, { result.take($0) }) else { return plain(text) }
        while !result.open.isEmpty { result.close() }
        return String(decoding: result.bytes, as: UTF8.self)
    }

    // MARK: What it is

    private static func isHTML(_ text: String) -> Bool {
        let start = text.trimmingWhiteSpace().prefix(20).lowercased()
        if start.hasPrefix("<!doctype") || start.hasPrefix("<html") { return true }
        guard start.hasPrefix("<") else { return false }
        return ["</p>", "</div>", "<br", "</h1>", "</h2>", "</ul>", "</article>"].contains { text.contains($0) }
    }

    /// Without anything that Markdown or HTML would read otherwise. Its lines are kept, as people write notes and transcriptions.
    private static func isPlain(_ text: String) -> Bool {
        if text.utf8.contains(where: { "<`*_[\\".utf8.contains($0) }) { return false }
        return text.split(separator: "\n").allSatisfy { line in
            guard let first = line.unicodeScalars.first(where: { $0 != " " }) else { return true }
            return !"#>-+=|~\t".unicodeScalars.contains(first) && !("0"..."9").contains(first)
                && !line.hasPrefix("    ")
        }
    }

    private static func plain(_ text: String) -> String {
        let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        return lines.split { $0.allSatisfy(\.isWhitespace) }.map { paragraph in
            "<p>\(paragraph.map { XML.escaped(String($0)) }.joined(separator: "<br/>\n"))</p>\n"
        }.joined()
    }

    // MARK: The language

    /// What a text has, and what is written for it. Headings begin below the item's own title.
    private static let blocks: [String: String] = [
        "p": "p", "h1": "h2", "h2": "h3", "h3": "h4", "h4": "h5", "h5": "h6", "h6": "h6", "pre": "pre",
        "blockquote": "blockquote", "ul": "ul", "ol": "ol", "li": "li", "table": "table", "tr": "tr", "td": "td",
        "th": "th", "dt": "p", "dd": "p", "figcaption": "p", "caption": "p",
    ]
    private static let phrases: [String: String] = [
        "a": "a", "em": "em", "i": "em", "strong": "strong", "b": "strong", "code": "code", "kbd": "code", "tt": "code",
        "samp": "code", "sub": "sub", "sup": "sup", "del": "del", "s": "del", "strike": "del", "q": "q", "cite": "cite",
    ]
    /// Nothing in these is for a reader.
    private static let unseen: Set<String> = [
        "script", "style", "head", "title", "noscript", "template", "iframe", "object", "svg", "math", "select",
        "textarea", "button", "form", "audio", "video", "canvas",
    ]
    /// These hold phrases only.
    private static let paragraphs: Set<String> = ["p", "h2", "h3", "h4", "h5", "h6", "pre"]
    /// Apart from text: what such an element has must be one of these.
    private static let parts = ["ul": "li", "ol": "li", "table": "tr", "tr": "td"]

    private mutating func take(_ event: HTMLReader.Event) {
        switch event {
        case .text(let text): if hidden == 0 { write(text) }
        case .start(let name, let attributes):
            if hidden > 0 || Self.unseen.contains(name) { hidden += 1 } else { start(name, attributes) }
        case .end(let name):
            if hidden > 0 { hidden -= 1 } else { end(name) }
        }
    }

    private mutating func start(_ name: String, _ attributes: [String: String]) {
        if let block = Self.blocks[name] {
            endPhrases()
            begin(block)
        } else if let phrase = Self.phrases[name] {
            guard phrase != "a" || !open.contains("a") else { return }
            guard phrase != "a" else {
                guard let address = attributes["href"].flatMap(Self.address) else { return }
                makeRoom()
                return push("a", " href=\"\(XML.escaped(address))\"")
            }
            makeRoom()
            push(phrase)
        } else if name == "br" || name == "hr" {
            if name == "hr" { endPhrases() }
            makeRoom()
            bytes.append(contentsOf: "<\(name)/>".utf8)
        } else if name == "img", let text = attributes["alt"], !text.allSatisfy(\.isWhitespace) {
            write("[\(text)]")
        } else if !Self.inline.contains(name) {
            // A division that is not kept still ends a paragraph.
            endPhrases()
        }
    }
    private static let inline: Set<String> = [
        "span", "img", "font", "u", "small", "abbr", "time", "mark", "label", "wbr",
    ]

    private mutating func end(_ name: String) {
        guard let written = Self.blocks[name] ?? Self.phrases[name] else {
            return Self.inline.contains(name) || name == "br" || name == "hr" ? () : endPhrases()
        }
        guard let place = open.lastIndex(of: written) else { return }
        // A phrase does not end what stands around its paragraph.
        if Self.phrases[name] != nil, open[place...].contains(where: { Self.blocks.values.contains($0) }) { return }
        while open.count > place { close() }
    }

    /// What begins here must be allowed in what is open.
    private mutating func begin(_ block: String) {
        switch block {
        case "li":
            // Of the innermost list.
            guard let list = open.lastIndex(where: { $0 == "ul" || $0 == "ol" }) else { return begin("p") }
            while open.count > list + 1 { close() }
        case "tr", "td", "th":
            guard let table = open.lastIndex(of: "table") else { return }
            let row = open[table...].lastIndex(of: "tr")
            while open.count > (block == "tr" ? table : row ?? table) + 1 { close() }
            if block != "tr", row == nil { push("tr") }
        default: makeRoom()
        }
        push(block)
    }

    private mutating func endPhrases() {
        while let last = open.last, Self.paragraphs.contains(last) || Self.phrases.values.contains(last) { close() }
    }

    /// For what is no part of a list or a table: in the part that is missing.
    private mutating func makeRoom() {
        while let last = open.last, let part = Self.parts[last] { push(part) }
    }

    private mutating func write(_ text: String) {
        if text.allSatisfy(\.isWhitespace), open.last.map({ Self.parts[$0] != nil }) ?? false { return }
        makeRoom()
        XML.append(text, to: &bytes)
    }

    private mutating func push(_ name: String, _ attributes: String = "") {
        bytes.append(contentsOf: "<\(name)\(attributes)>".utf8)
        open.append(name)
    }

    private mutating func close() {
        guard let name = open.last else { return }
        // No list and no row is empty.
        if bytes.count >= name.utf8.count + 2, Self.parts[name] != nil, bytes.ends(with: "<\(name)>") { makeRoom() }
        while let last = open.last, last != name { closeLast(last) }
        closeLast(name)
    }

    private mutating func closeLast(_ name: String) {
        open.removeLast()
        bytes.append(contentsOf: "</\(name)>".utf8)
        if Self.blocks.values.contains(name) { bytes.append(0x0A) }
    }

    // MARK: Addresses

    /// Of a page, with what an address may not have (RFC 3986, section 2) percent-encoded; `nil` for any other.
    static func address(_ text: String) -> String? {
        let allowed = "-._~:/?#@!$&'()*+,;="
        let bytes = Array(text.trimmingWhiteSpace().utf8)
        let encoded = bytes.indices.map { index in
            let byte = bytes[index]
            let next = bytes.dropFirst(index + 1).prefix(2)
            // A second number sign is not of the fragment's letters.
            if byte == UInt8(ascii: "#"), bytes[..<index].contains(byte) { return "%23" }
            let isCode = byte == UInt8(ascii: "%") && next.count { Character(UnicodeScalar($0)).isHexDigit } == 2
            if isCode || byte.isASCIILetterOrDigit || allowed.utf8.contains(byte) { return String(UnicodeScalar(byte)) }
            let hex = String(byte, radix: 16, uppercase: true)
            return "%\(hex.count < 2 ? "0" : "")\(hex)"
        }.joined()
        return URLCheck.isOfPage(encoded) ? encoded : nil
    }
}

/// CommonMark, as md4c reads it.
enum Markdown {
    /// - Returns: HTML; `nil` where there is no memory.
    /// - Throws: `library_missing`.
    static func html(_ text: String) throws(UserFacingError) -> [UInt8]? {
        try Library.markdown.check()
        var (text, html) = (text, [UInt8]())
        let isMade = text.withUTF8 { bytes in
            withUnsafeMutablePointer(to: &html) { html in
                prsnl_markdown_html(
                    bytes.baseAddress, UInt32(bytes.count),
                    { part, count, html in
                        let part = UnsafeRawBufferPointer(start: part, count: Int(count))
                        html?.assumingMemoryBound(to: [UInt8].self).pointee.append(contentsOf: part)
                    }, html)
            }
        }
        return isMade ? html : nil
    }
}

extension [UInt8] {
    fileprivate func ends(with text: String) -> Bool { suffix(text.utf8.count).elementsEqual(text.utf8) }
}
