/// Who the server takes us for: `GET /api/auth/me`.
package struct Account: Sendable, Equatable {
    package var id: String
    package var email: String?
    package var name: String?

    package init(id: String, email: String? = nil, name: String? = nil) {
        self.id = id
        self.email = email
        self.name = name
    }
}

extension Account {
    /// Whether a token's `sub` is another account's than this one.
    ///
    /// Servers put an id or an e-mail address there. Only what has the form of the one or the other, and is not it, says so:
    /// a subject of an unknown form must not keep its owner out.
    package func isCertainlyNot(_ subject: String) -> Bool {
        if subject == id || subject.lowercased() == email?.lowercased() { return false }
        if subject.contains("@") { return email != nil }
        return Self.form(subject).map { $0 == Self.form(id) && subject.lowercased() != id.lowercased() } ?? false
    }

    private enum Form { case uuid, number }

    private static func form(_ text: String) -> Form? {
        let characters = Array(text.utf8)
        if !characters.isEmpty, characters.allSatisfy({ (0x30...0x39).contains($0) }) { return .number }
        guard characters.count == 36 else { return nil }
        let isUUID = characters.enumerated().allSatisfy { place, character in
            [8, 13, 18, 23].contains(place) ? character == UInt8(ascii: "-") : isHexadecimal(character)
        }
        return isUUID ? .uuid : nil
    }

    private static func isHexadecimal(_ character: UInt8) -> Bool {
        (0x30...0x39).contains(character) || (0x41...0x46).contains(character & ~0x20)
    }
}
