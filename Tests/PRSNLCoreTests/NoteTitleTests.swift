import PRSNLCore
import Testing

/// The titles that servers give to notes.
struct NoteTitleTests {
    static let long = String(repeating: "x", count: 120)

    @Test(arguments: [
        ("A first line of it\nand more", "A first line of it"),
        ("  \n A first line of it \r\nand more", "A first line of it"),
        ("ten chars!\nmore", "ten chars!"),
        ("nine char\nmore", "nine char\nmore"),
        ("short", "short"),
        (String(repeating: "a", count: 100) + "\nb", String(repeating: "a", count: 100)),
        (String(repeating: "a", count: 101) + "\nb", String(repeating: "a", count: 80)),
        ("  " + long, String(repeating: "x", count: 80)),
        // Ten scalars, though only five characters for a person.
        ("e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}\nmore", "e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}"),
        // A line ends with a line feed and with nothing else.
        ("one line\u{2028}and still the same\nmore", "one line\u{2028}and still the same"),
        ("\u{1F}\u{A0}\u{3000}Between odd spaces\u{85}", "Between odd spaces"),
        (" \n\t", ""), ("", ""),
    ])
    func aNoteIsCalledByItsFirstLineOrItsBeginning(_ text: String, _ title: String) {
        #expect(NoteTitle.derived(from: text).unicodeScalars.elementsEqual(title.unicodeScalars))
    }

    @Test(arguments: [
        ("A first line of it\nand more", "A first line of it", true),
        ("A first line of it\nand more", "A first line of it...", false),
        ("A first line of it\nand more", "Another line", false),
        (long, String(repeating: "x", count: 80), true),
        (long, String(repeating: "x", count: 80) + "...", true),
        ("  " + long, String(repeating: "x", count: 78) + "...", true),
        (long, String(repeating: "x", count: 79) + "...", false),
        (long, long, false),
        ("nine char\nmore", "nine char\nmore", true),
        ("Cafe\u{301} au lait\nmore", "Café au lait", false),
    ])
    func everyReleasesTitleIsRecognised(_ text: String, _ title: String, _ isDerived: Bool) {
        #expect(NoteTitle.isDerived(title, from: text) == isDerived)
    }

    @Test func whatIsDerivedIsRecognised() {
        for text in [
            "short", Self.long, "  \(Self.long)", "A first line of it\nand more", "a\nb\nc", "x y\n" + Self.long,
        ] {
            #expect(NoteTitle.isDerived(NoteTitle.derived(from: text), from: text))
        }
    }
}
