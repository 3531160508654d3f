import Glibc
import TestSupport
import Testing

/// Compares a whole screen with `Screens/NAME.txt`. `make screens` writes these files again, so that a comma that changes is
/// one file, and git shows what has changed.
func expectScreen(
    _ name: String, _ text: String, sourceLocation: SourceLocation = #_sourceLocation
) throws {
    let path = "Tests/CommandsTests/Screens/\(name).txt"
    if getenv("PRSNL_WRITE_SCREENS") != nil { try RepositoryFile.write(text, to: path) }
    let expected = try RepositoryFile.text(path)
    #expect(text == expected, "\(path); `make screens` writes it again", sourceLocation: sourceLocation)
}
