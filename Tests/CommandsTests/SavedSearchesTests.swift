import Testing

@testable import Commands

/// The file of saved searches.
@Suite struct SavedSearchesTests {
    private func read(_ text: String) -> [[String]] { SavedSearches.parse(text).map { [$0.name, $0.query] } }

    @Test func aLineIsANameAndAQuery() {
        let text = "# mine\nlater = tag:later -tag:done\r\n\n b=@later (x OR y=z)\nno query =\n=x\na/b = c\n"
        #expect(read(text) == [["later", "tag:later -tag:done"], ["b", "@later (x OR y=z)"]])
    }

    // MARK: Found while fuzzing

    @Test(arguments: ["a = ", "a =", "a=", "a=\u{A0}"]) func aQueryMayBeginWithAnAccent(_ front: String) {
        #expect(read(front + "\u{301}x y\n") == [["a", "\u{301}x y"]])
        #expect(read("#\u{301} " + front + "x\n").isEmpty)
    }
}
