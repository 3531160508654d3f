import Configuration
import Console
import PRSNLCore
import Store
import TestSupport
import Testing

@testable import Commands

/// The place of a reader of changes, in its file.
@Suite struct CursorTests {
    // MARK: Found while fuzzing

    @Test(arguments: ["a", "a\r", "a\n\nb", "\u{301}"])
    func aPlaceIsThatOfItsDatabaseHoweverThatIsNamed(_ name: String) throws {
        let home = TemporaryDirectory("cursor")
        let words = ["--database", home.file(name), "--socket", home.file("s"), "changes"]
        let context = try CommandContext(
            try ParsedArguments(words, table: .prsnlctl), ProcessEnvironment(homeDirectory: home.path),
            judgesConfiguration: false)
        let cursor = try Cursor("mail", context)
        for at in [nil, Timestamp(microseconds: 1)] {
            let place = ChangePlace(epoch: "0f3a5c7e0f3a5c7e", seq: 12, at: at)
            try cursor.move(to: place)
            #expect(try cursor.place() == place)
        }
    }
}
