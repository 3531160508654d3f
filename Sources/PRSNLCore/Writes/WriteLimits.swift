/// What servers take, by the API contract ("Writes"). A write beyond these limits would be refused for good, perhaps days
/// later, or lose a part of itself in silence (tags), so it is refused before it is accepted.
package enum WriteLimits {
    /// Drafts that are accepted in one transaction, where each is answered by itself.
    package static let together = 1_000
    /// The same, where they are answered in numbers.
    package static let talliedTogether = 10_000
    package static let title = 1...500
    package static let note = 1...50_000
    /// With a URL the note travels as `highlight`.
    package static let remark = 1...1_000
    package static let summary = 0...5_000
    package static let tagCount = 20
    package static let tag = 1...50
    package static let url = 1...2_048
    /// The small server's whole body, in bytes.
    package static let expressBody = 102_400
    /// `auto` is left out: the current release fails with it.
    package static let contentTypes = [
        "document", "video", "article", "tutorial", "image", "note", "link", "development", "github_repo",
        "github_document",
    ]
}

/// The error that a draft is refused with, and the check that all texts share.
enum Refusal {
    /// - Parameter reason: without the value itself, which may be a title or a text.
    static func of(_ field: String, _ reason: String, suggestion: Advice? = nil) -> UserFacingError {
        UserFacingError(
            .writeInvalid, "\(field): \(reason).", consequence: "Nothing was queued.", recoverySuggestion: suggestion)
    }

    /// - Parameter name: of the text at the beginning of a sentence.
    static func check(
        _ field: String, _ text: String, _ allowed: ClosedRange<Int>, called name: String? = nil
    ) throws(UserFacingError) {
        let (length, hasNUL) = measure(text)
        if hasNUL { throw nul(field) }
        if length > allowed.upperBound {
            throw of(field, "\(Count.text(length, "character")), at most \(Count.text(allowed.upperBound)) are allowed")
        }
        if length < allowed.lowerBound { throw empty(name ?? "The \(field)", allowed.upperBound) }
    }

    static func empty(_ what: String, _ most: Int) -> UserFacingError {
        UserFacingError(
            .writeInvalid, "\(what) is empty. It may have 1 to \(Count.text(most, "character")).",
            consequence: "Nothing was queued.")
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
