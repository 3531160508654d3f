import Formats
import PRSNLCore

/// Files of other services, and the texts that become pages.
extension FuzzTarget {
    /// The first byte says how the rest begins, so that each reader is met often.
    static let importFile = FuzzTarget(name: "import") { bytes in
        let starts = [
            "", "<!DOCTYPE NETSCAPE-Bookmark-file-1>", "title,url,time_added,tags,status\n", "[", "{\"bookmarks\":[",
        ]
        guard let first = bytes.first else { return }
        let file: ImportFile
        do throws(UserFacingError) {
            file = try ImportFile(Array(starts[Int(first) % starts.count].utf8) + bytes.dropFirst(), "x")
        } catch {
            return require(error.code == .importUnreadable, "\(error)")
        }
        require(!file.forms.isEmpty, "no form")
        for (item, place) in file.items {
            require(place.hasPrefix("x, ") && item.position > 0, place)
            require(item.tags.allSatisfy { !$0.isEmpty }, "an empty tag")
            let made = NewItem(url: item.url, title: item.title, note: item.note, tags: item.tags)
            // What is taken is taken again, whole.
            guard let (taken, _) = try? made.taken(dialect: .cursor) else { continue }
            guard let (again, leftOut) = try? taken.taken(dialect: .cursor) else {
                return require(false, "refused: \(taken)")
            }
            require(again == taken && leftOut.isEmpty, "\(taken)")
        }
    }

    /// The text of an item: balanced, and of the language alone.
    static let xhtml = FuzzTarget(name: "xhtml") { bytes in
        guard let made = try? XHTMLText.of(String(decoding: bytes, as: UTF8.self)) else {
            return require(false, "no library")
        }
        // By bytes: a letter of the text may belong to the sign before it.
        var open: [ArraySlice<UInt8>] = []
        for part in Array(made.utf8).split(separator: UInt8(ascii: "<"), omittingEmptySubsequences: false).dropFirst() {
            let tag = part.prefix { $0 != UInt8(ascii: ">") }
            require(tag.endIndex < part.endIndex, "a tag is not closed: \(made)")
            if tag.last == UInt8(ascii: "/") { continue }
            if tag.first == UInt8(ascii: "/") {
                require(open.popLast() == tag.dropFirst(), "not balanced: \(made)")
            } else {
                let name = tag.prefix { $0 != 0x20 }
                let isLink = String(decoding: tag.prefix(12), as: UTF8.self).lowercased() == "a href=\"http"
                require(name == tag || isLink, "an attribute: \(made)")
                let word = String(decoding: name, as: UTF8.self)
                require(!["script", "style", "img"].contains(word), "an element: \(made)")
                open.append(name)
            }
        }
        require(open.isEmpty, "open at the end: \(made)")
    }
}
