package import PRSNLCore

/// An EPUB 3 book (https://www.w3.org/TR/epub-33/), with a table of contents for readers of EPUB 2 too: a chapter for each item.
package struct EPUBWriter {
    private var zip: ZipWriter
    private let title: String
    private let identifier: String
    private let language: String
    private let modified: Timestamp
    /// More than one where a file for each chapter would be more than a ZIP file has.
    private let chaptersPerFile: Int
    private var page = ""
    private var count = 0
    private var lastTitle = ""
    /// The lines of `nav.xhtml` and `toc.ncx`.
    private var links: [UInt8] = [], points: [UInt8] = []

    private static let mostFiles = 20_000
    private static let style = """
        body { font-family: serif; line-height: 1.5; margin: 1em; }
        h1, h2, h3, h4, h5, h6 { line-height: 1.2; text-align: left; }
        .facts { color: #666; font-size: 0.85em; }
        pre { white-space: pre-wrap; font-size: 0.85em; }
        blockquote { margin-left: 1em; padding-left: 1em; border-left: 0.2em solid #999; }
        td, th { border: 1px solid #999; padding: 0.2em 0.4em; }
        section + section { page-break-before: always; }
        """

    /// - Parameters:
    ///   - identifier: what no other book has.
    ///   - language: of most texts (BCP 47).
    ///   - chapters: how many will come.
    ///   - write: appends to the file.
    package init(
        title: String, identifier: String, language: String, modified: Timestamp, chapters: Int,
        _ write: @escaping ([UInt8]) throws -> Void
    ) throws {
        (self.title, self.identifier, self.language) = (title, identifier, language)
        self.modified = modified
        chaptersPerFile = chapters / Self.mostFiles + 1
        zip = try ZipWriter(write)
        // First, and as it is: programs look for it at byte 38 (OCF 4.3).
        try zip.add("mimetype", Array("application/epub+zip".utf8), isStored: true)
        try add(
            "META-INF/container.xml",
            """
            <?xml version="1.0" encoding="UTF-8"?>
            <container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>
            <rootfile full-path="book/content.opf" media-type="application/oebps-package+xml"/></rootfiles></container>
            """)
        try add("book/style.css", Self.style)
        try add("book/cover.svg", cover)
    }

    package mutating func add(_ item: ReadItem) throws {
        page += "<section id=\"i\(count)\">\n\(try item.xhtml())</section>\n"
        let (place, title) = ("c\(count / chaptersPerFile).xhtml#i\(count)", XML.escaped(item.title))
        count += 1
        lastTitle = item.title
        links += "<li><a href=\"\(place)\">\(title)</a></li>\n".utf8
        points += "<navPoint id=\"n\(count)\" playOrder=\"\(count)\"><navLabel><text>\(title)</text></navLabel>".utf8
        points += "<content src=\"\(place)\"/></navPoint>\n".utf8
        if count % chaptersPerFile == 0 { try endFile() }
    }

    /// - Parameter comment: for the program that writes the next one.
    package mutating func end(comment: String) throws {
        if !page.isEmpty { try endFile() }
        let parts = xhtml("<nav epub:type=\"toc\" id=\"toc\"><h1>\(XML.escaped(title))</h1>\n<ol>\n\0</ol></nav>")
        Self.enclose(&links, parts)
        try zip.add("book/nav.xhtml", links)
        links = []
        let head = """
            <?xml version="1.0" encoding="UTF-8"?>
            <ncx xmlns="http://www.daisy.org/z3986/2005/ncx/" version="2005-1"><head>
            <meta name="dtb:uid" content="\(XML.escaped(identifier))"/></head>
            <docTitle><text>\(XML.escaped(title))</text></docTitle><navMap>
            \0</navMap></ncx>

            """
        Self.enclose(&points, head)
        try zip.add("book/toc.ncx", points)
        try add("book/content.opf", contents)
        try zip.end(comment: comment)
    }

    /// - Parameter text: the lines, of which there may be very many, take the place of its NUL.
    private static func enclose(_ lines: inout [UInt8], _ text: String) {
        let parts = text.split(separator: "\0")
        lines.insert(contentsOf: parts[0].utf8, at: 0)
        lines += parts[1].utf8
    }

    private mutating func endFile() throws {
        let number = (count - 1) / chaptersPerFile
        try add("book/c\(number).xhtml", xhtml(page, title: chaptersPerFile == 1 ? lastTitle : nil))
        page = ""
    }

    private mutating func add(_ name: String, _ text: String) throws { try zip.add(name, Array(text.utf8)) }

    private func xhtml(_ body: String, title: String? = nil) -> String {
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE html>
        <html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops" lang="\(language)" xml:lang="\(language)">
        <head><title>\(XML.escaped(title ?? self.title))</title><link rel="stylesheet" href="style.css"/></head>
        <body>
        \(body)
        </body></html>

        """
    }

    private var cover: String {
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 800"><rect width="600" height="800" fill="#1d3557"/>
        <g fill="#f1faee" font-family="serif" text-anchor="middle"><text x="300" y="360" font-size="44">\(XML.escaped(title))</text>
        <text x="300" y="430" font-size="28">\(modified.description.prefix(10))</text></g></svg>

        """
    }

    private var contents: String {
        let files = 0..<(count + chaptersPerFile - 1) / chaptersPerFile
        return """
            <?xml version="1.0" encoding="UTF-8"?>
            <package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id" xml:lang="\(language)">
            <metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:identifier id="id">\(XML.escaped(identifier))</dc:identifier>
            <dc:title>\(XML.escaped(title))</dc:title><dc:language>\(language)</dc:language><dc:creator>prsnld</dc:creator>
            <meta property="dcterms:modified">\(modified.description.prefix(19))Z</meta><meta name="cover" content="cover"/></metadata>
            <manifest><item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>
            <item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/><item id="style" href="style.css" media-type="text/css"/>
            <item id="cover" href="cover.svg" media-type="image/svg+xml" properties="cover-image"/>

            """
                + files.map { "<item id=\"c\($0)\" href=\"c\($0).xhtml\" media-type=\"application/xhtml+xml\"/>\n" }
                .joined()
                + "</manifest>\n<spine toc=\"ncx\"><itemref idref=\"nav\"/>\n"
                + files.map { "<itemref idref=\"c\($0)\"/>\n" }.joined() + "</spine></package>\n"
    }
}
