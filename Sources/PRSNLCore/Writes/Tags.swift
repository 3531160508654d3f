/// Tags, which are a set to servers and to people. They are compared byte by byte (`ByteText`).
package enum Tags {
    package static func set(_ tags: [String]) -> Set<ByteText> { Set(tags.map(ByteText.init)) }

    package static func areSame(_ left: [String], _ right: [String]) -> Bool { set(left) == set(right) }

    /// The one text form of a set of tags, as the columns `tags` have it: sorted by bytes and without repeats, so that the
    /// same tags in another order are no difference.
    package static func json(_ tags: [String]) -> String {
        // Most items have a few tags, and a page has a hundred items: sorting costs less than hashing, and looking costs less yet.
        if areInForm(tags) { return JSONText.array(tags) }
        var sorted = tags
        sorted.sort { ByteText($0) < ByteText($1) }
        if areInForm(sorted) { return JSONText.array(sorted) }
        var kept: [String] = []
        for tag in sorted where kept.last.map(ByteText.init) != ByteText(tag) { kept.append(tag) }
        return JSONText.array(kept)
    }

    /// The same. As `written` by a server, where that has this form already.
    package static func json(_ tags: [String], written: UnsafeBufferPointer<UInt8>) -> String {
        // Two brackets, two quotation marks for each, and the commas: no space, and no escape.
        let size = tags.reduce(tags.isEmpty ? 2 : 1) { $0 + $1.utf8.count + 3 }
        guard written.count == size, areInForm(tags) else { return json(tags) }
        let text = String(decoding: written, as: UTF8.self)
        // What is not UTF-8 has become longer, and may have made up for an escape.
        return text.utf8.count == size ? text : json(tags)
    }

    private static func areInForm(_ tags: [String]) -> Bool {
        zip(tags, tags.dropFirst()).allSatisfy { ByteText($0) < ByteText($1) }
    }

    /// `nil` for what is not a list of texts: the server's own form, of which nothing is known.
    package static func parse(_ json: String?) -> [String]? {
        guard let json else { return nil }
        do {
            return try JSONReader.read(Array(json.utf8)) { reader in
                var tags: [String] = []
                try reader.array { reader in tags.append(try reader.string()) }
                return tags
            }
        } catch {
            return nil
        }
    }

    // MARK: Limits

    /// Whether the server keeps it.
    package static func isTaken(_ tag: String, dialect: Dialect?) -> Bool {
        (try? check(tag, number: 1, of: 1, dialect)) != nil
    }

    /// The main server drops tags with other characters and cuts long ones, both without saying so. The small server keeps
    /// them as they are.
    ///
    /// - Returns: each tag once, in the order given.
    static func checked(_ tags: [String], dialect: Dialect?) throws(UserFacingError) -> [String] {
        var kept: [String] = []
        kept.reserveCapacity(min(tags.count, WriteLimits.tagCount))
        for (index, tag) in tags.enumerated() {
            try check(tag, number: index + 1, of: tags.count, dialect)
            if kept.contains(tag) { continue }
            kept.append(tag)
            if kept.count > WriteLimits.tagCount { try checkCount(tags) }
        }
        return kept
    }

    /// - Throws: `write_invalid` for more than an item may have.
    package static func checkCount(_ tags: [String]) throws(UserFacingError) {
        guard tags.count > WriteLimits.tagCount else { return }
        throw Refusal.of("tags", "\(tags.count) tags, at most \(WriteLimits.tagCount) are allowed")
    }

    private static func check(_ tag: String, number: Int, of count: Int, _ dialect: Dialect?) throws(UserFacingError) {
        let (length, hasNUL) = Refusal.measure(tag)
        let field = count == 1 ? "tags" : "tags (number \(number))"
        if hasNUL { throw Refusal.nul(field) }
        if length > WriteLimits.tag.upperBound {
            throw Refusal.of(field, "\(length) characters, at most \(WriteLimits.tag.upperBound) are allowed")
        }
        if length == 0 {
            throw Refusal.empty(count == 1 ? "The tag" : "Tag number \(number)", WriteLimits.tag.upperBound)
        }
        if dialect == .express { return try Refusal.checkNotBlank(field, tag) }
        if tag.utf8.allSatisfy({ (0x61...0x7A).contains($0) || $0.isASCIIDigit || $0 == 0x20 || $0 == 0x2D }) {
            if tag.utf8.first != 0x20, tag.utf8.last != 0x20 { return }
            throw Refusal.of(field, "it begins or ends with a space")
        }
        throw UserFacingError(
            .writeInvalid,
            "The tag \"\(SafeText.harmless(tag))\" was refused: the server keeps only a-z, 0-9, spaces and hyphens.",
            consequence: "Nothing was queued.")
    }
}

/// What an item gets and loses of its tags, whatever others it has. So two changes of one item are never in conflict.
package struct TagChange: Sendable, Equatable {
    package var added: [String]
    package var removed: [String]

    package init(added: [String] = [], removed: [String] = []) {
        self.added = added
        self.removed = removed
    }

    package var isEmpty: Bool { added.isEmpty && removed.isEmpty }

    package func applied(to tags: [String]) -> [String] {
        if isEmpty { return tags }
        return Tags.set(tags).subtracting(Tags.set(removed)).union(Tags.set(added)).sorted().map(\.text)
    }

    /// Whether it would change nothing.
    package func isDone(in tags: [String]) -> Bool { Tags.areSame(applied(to: tags), tags) }

    func contains(_ part: TagChange) -> Bool {
        Tags.set(added).isSuperset(of: Tags.set(part.added)) && Tags.set(removed).isSuperset(of: Tags.set(part.removed))
    }

    /// One change in place of two.
    func followed(by later: TagChange) -> TagChange {
        if later.isEmpty { return self }
        let reverse = TagChange(added: later.removed, removed: later.added)
        return TagChange(added: later.applied(to: added), removed: reverse.applied(to: removed))
    }

    /// What is taken away was the server's, and may be any text.
    func checked(dialect: Dialect?) throws(UserFacingError) -> TagChange {
        for tag in removed where tag.isEmpty { throw Refusal.of("tags", "a tag to be removed is empty") }
        let checked = TagChange(added: try Tags.checked(added, dialect: dialect), removed: removed)
        if let both = checked.added.first(where: { Tags.set(removed).contains(ByteText($0)) }) {
            throw Refusal.of("tags", "\"\(both)\" is to be added and to be removed")
        }
        return checked
    }
}
