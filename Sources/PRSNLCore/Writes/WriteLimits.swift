/// What servers take, by the API contract ("Writes"). A write beyond these limits would be refused for good, perhaps days
/// later, or lose a part of itself in silence (tags), so it is refused before it is accepted.
package enum WriteLimits {
    /// Drafts that are accepted in one transaction.
    package static let together = 1_000
    package static let title = 1...500
    package static let note = 1...50_000
    /// With a URL the note travels as `highlight`.
    package static let remark = 1...1_000
    package static let summary = 0...5_000
    package static let tagCount = 20
    package static let tag = 1...50
    package static let url = 2_048
    /// The small server's whole body, in bytes.
    package static let expressBody = 102_400
    /// `auto` is left out: the current release fails with it.
    package static let contentTypes = [
        "document", "video", "article", "tutorial", "image", "note", "link", "development", "github_repo",
        "github_document",
    ]
}

extension WriteDraft {
    /// Checks a write before it is accepted.
    ///
    /// - Parameter dialect: `nil` while the server was never seen; its own limits are then not checked.
    /// - Returns: the draft without repeated tags.
    /// - Throws: `write_invalid`, naming the field, the limit and the value's length.
    package func checked(dialect: Dialect?) throws(UserFacingError) -> WriteDraft {
        switch self {
        case .create(let item): return .create(try item.checked(dialect: dialect))
        case .edit(let id, let edit):
            try Refusal.check(item: id)
            return .edit(item: id, try edit.checked(dialect: dialect))
        case .delete(let id):
            try Refusal.check(item: id)
            return self
        }
    }
}

extension NewItem {
    fileprivate func checked(dialect: Dialect?) throws(UserFacingError) -> NewItem {
        guard url != nil || note != nil else {
            throw Refusal.of("url or note", "one of the two is needed")
        }
        if let url { try URLCheck.check(url) }
        if let title { try Refusal.check(title: title) }
        if let note {
            try Refusal.check("note", note, url == nil ? WriteLimits.note : WriteLimits.remark)
            try Refusal.checkNotBlank("note", note)
        }
        try Self.check(type: type)
        var checked = self
        checked.tags = try TagCheck.checked(tags, dialect: dialect)
        if dialect == .express { try checked.checkExpressBody() }
        return checked
    }

    private static func check(type: String) throws(UserFacingError) {
        if WriteLimits.contentTypes.contains(type) { return }
        let names = WriteLimits.contentTypes.joined(separator: ", ")
        if type == "auto" {
            throw Refusal.of(
                "type", "auto is not sent, because the server's current release fails with it",
                suggestion: "Leave the type out (a URL is then a link, a text a note), or name one of \(names).")
        }
        throw Refusal.of("type", "not one that the server knows", suggestion: "Name one of \(names).")
    }

    private func checkExpressBody() throws(UserFacingError) {
        // One byte of text is six of JSON at most (\u0001), the title may be sent for a part of the note or the URL, and
        // the tags are checked: nearly every item is small enough without writing it.
        let longest = 6 * (2 * (note?.utf8.count ?? 0) + (title?.utf8.count ?? 0) + 2 * (url?.utf8.count ?? 0))
        guard longest + 4_096 > WriteLimits.expressBody else { return }
        let size = WriteBody.create(self, dialect: .express).count
        guard size > WriteLimits.expressBody else { return }
        throw Refusal.of(
            note == nil ? "url" : "note",
            "the request would have \(Count.text(size, "byte")), at most \(Count.text(WriteLimits.expressBody)) are allowed by this server"
        )
    }
}

extension ItemEdit {
    fileprivate func checked(dialect: Dialect?) throws(UserFacingError) -> ItemEdit {
        if isEmpty { throw Refusal.of("edit", "no field is given; name a title, a summary or tags") }
        if let title { try Refusal.check(title: title) }
        if let summary { try Refusal.check("summary", summary, WriteLimits.summary) }
        var checked = self
        if let tags { checked.tags = try TagCheck.checked(tags, dialect: dialect) }
        return checked
    }
}

/// The error that a draft is refused with, and the check that all texts share.
enum Refusal {
    /// - Parameter reason: without the value itself, which may be a title or a text.
    static func of(_ field: String, _ reason: String, suggestion: String? = nil) -> UserFacingError {
        UserFacingError(
            .writeInvalid, "\(field): \(reason).", consequence: "Nothing was queued.", recoverySuggestion: suggestion)
    }

    static func check(
        _ field: String, _ text: String, _ allowed: ClosedRange<Int>
    ) throws(UserFacingError) {
        let (length, hasNUL) = measure(text)
        if hasNUL { throw nul(field) }
        if length > allowed.upperBound {
            throw of(field, "\(Count.text(length, "character")), at most \(Count.text(allowed.upperBound)) are allowed")
        }
        if length < allowed.lowerBound {
            throw of(
                field, "it is empty, \(allowed.lowerBound) to \(Count.text(allowed.upperBound)) characters are allowed")
        }
    }

    static func check(title: String) throws(UserFacingError) {
        try check("title", title, WriteLimits.title)
        try checkNotBlank("title", title)
    }

    static func checkNotBlank(_ field: String, _ text: String) throws(UserFacingError) {
        if text.unicodeScalars.allSatisfy(\.isStrippedByServers) { throw of(field, "it is nothing but white space") }
    }

    static func check(item: String) throws(UserFacingError) {
        let (length, hasNUL) = measure(item)
        if hasNUL { throw nul("item") }
        if length == 0 { throw of("item", "the id is empty") }
    }

    static func nul(_ field: String) -> UserFacingError {
        of(field, "it holds a NUL character, which the server cannot store")
    }

    /// One walk over the bytes. Characters are Unicode scalars: the server counts like Python's `len`.
    static func measure(_ text: String) -> (length: Int, hasNUL: Bool) {
        var length = 0
        var hasNUL = false
        for byte in text.utf8 {
            length += byte & 0xC0 == 0x80 ? 0 : 1  // all but UTF-8's continuation bytes
            hasNUL = hasNUL || byte == 0
        }
        return (length, hasNUL)
    }
}
