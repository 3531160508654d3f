package import PRSNLCore

/// An item as a book, a page or a feed shows it.
package struct ReadItem: Sendable {
    package var id: String
    /// Never blank.
    package var title: String
    /// Of its page, where it has one.
    package var address: String?
    package var createdAt: Timestamp
    package var updatedAt: Timestamp
    /// `2026-11-29`, where the person is.
    package var day: String
    package var tags: [String]
    package var summary: String?
    /// As the server has it: HTML, Markdown or plain.
    package var text: String?

    package init(
        id: String, title: String, address: String?, createdAt: Timestamp, updatedAt: Timestamp, day: String,
        tags: [String], summary: String?, text: String?
    ) {
        (self.id, self.title, self.address) = (id, title, address)
        (self.createdAt, self.updatedAt, self.day) = (createdAt, updatedAt, day)
        (self.tags, self.summary, self.text) = (tags, summary, text)
    }

    /// What stands above its text, and its text; without one, its summary.
    ///
    /// - Parameter tagLink: an attribute for a link to what has a tag; `nil` for none.
    /// - Throws: `library_missing`.
    func xhtml(tagLink: (String) -> String? = { _ in nil }) throws(UserFacingError) -> String {
        let link = address.flatMap(XHTMLText.address).map { address in
            "<a href=\"\(XML.escaped(address))\">\(XML.escaped(URLCheck.host(of: address) ?? address))</a>"
        }
        let names = tags.map { tag in
            tagLink(tag).map { "<a href=\"\($0)\">#\(XML.escaped(tag))</a>" } ?? "#\(XML.escaped(tag))"
        }
        let facts = ([day, link] + names).compactMap(\.self).joined(separator: " · ")
        return try "<h1>\(XML.escaped(title))</h1>\n<p class=\"facts\">\(facts)</p>\n\(body())"
    }

    /// - Throws: `library_missing`.
    func body() throws(UserFacingError) -> String {
        if let text { return try XHTMLText.of(text) }
        return summary.map { "<p>\(XML.escaped($0))</p>\n" } ?? ""
    }
}

/// A file with an entry for each item, which other programs read.
package enum LinkForm: String, Sendable {
    /// A bookmark file, as browsers read it.
    case netscape
    /// With the columns of Pocket's export, which most services read.
    case csv
    /// A feed (RFC 4287).
    case atom

    /// Whether an item without an address has an entry.
    package var takesNotes: Bool { self == .atom }

    /// How each file that was written here begins. Pocket's own CSV has other ends of lines.
    package var start: String {
        switch self {
        case .netscape: "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<!-- \(WebPages.mark) -->\n"
        case .csv: "title,url,time_added,tags,status\r\n"
        case .atom: "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- \(WebPages.mark) -->\n"
        }
    }

    /// - Parameters:
    ///   - identifier: what no other feed has.
    ///   - updated: of the newest entry.
    package func head(title: String, identifier: String, updated: Timestamp) -> String {
        switch self {
        case .netscape:
            """
            \(start)<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=UTF-8">
            <TITLE>\(XML.escaped(title))</TITLE>
            <H1>\(XML.escaped(title))</H1>
            <DL><p>

            """
        case .csv: start
        case .atom:
            """
            \(start)<feed xmlns="http://www.w3.org/2005/Atom"><title>\(XML.escaped(title))</title><id>\(XML.escaped(identifier))</id>
            <updated>\(updated)</updated><author><name>prsnld</name></author>

            """
        }
    }

    package var tail: String {
        switch self {
        case .netscape: "</DL><p>\n"
        case .csv: ""
        case .atom: "</feed>\n"
        }
    }

    /// - Throws: `library_missing`.
    package func entry(_ item: ReadItem, of identifier: String) throws(UserFacingError) -> String {
        let seconds = item.createdAt.microseconds / 1_000_000
        let title = XML.escaped(item.title)
        let address = XML.escaped(item.address ?? "")
        switch self {
        case .netscape:
            let tags = XML.escaped(item.tags.joined(separator: ","))
            let remark = item.summary.map { "<DD>\(XML.escaped($0))\n" } ?? ""
            return "<DT><A HREF=\"\(address)\" ADD_DATE=\"\(seconds)\" TAGS=\"\(tags)\">\(title)</A>\n\(remark)"
        case .csv:
            let fields = [item.title, item.address ?? "", "\(seconds)", item.tags.joined(separator: "|"), "unread"]
            return fields.map(Self.field).joined(separator: ",") + "\r\n"
        case .atom:
            // Ids are bytes, and an address may not have all of them.
            let id = Array(item.id.utf8).map {
                $0.isASCIILetterOrDigit || $0 == 0x2D ? String(UnicodeScalar($0)) : "_\($0)"
            }
            let link = item.address.flatMap(XHTMLText.address).map { "<link href=\"\(XML.escaped($0))\"/>" } ?? ""
            let tags = item.tags.map { "<category term=\"\(XML.escaped($0))\"/>" }.joined()
            return """
                <entry><title>\(title)</title><id>\(XML.escaped(identifier)):\(id.joined())</id>\(link)\(tags)
                <published>\(item.createdAt)</published><updated>\(item.updatedAt)</updated>
                <content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">
                \(try item.body())</div></content></entry>

                """
        }
    }

    /// RFC 4180.
    private static func field(_ text: String) -> String {
        guard text.utf8.contains(where: { ",\"\r\n".utf8.contains($0) }) else { return text }
        return "\"\(SafeText.replacing({ $0 == "\"" }, in: text) { _ in "\"\"" })\""
    }
}
