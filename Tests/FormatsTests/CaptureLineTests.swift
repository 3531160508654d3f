import Formats
import Glibc
import PRSNLCore
import TestSupport
import Testing

@testable import Control

/// What `capture --stdin` makes of what it is given.
@Suite struct CaptureLineTests {
    private func line(_ text: String, isFirst: Bool = false) throws(UserFacingError) -> NewItem? {
        try CaptureLine.item(Array(text.utf8), isFirst: isFirst)
    }

    @Test func aURLAndAnObjectAreItems() throws {
        #expect(try line(" https://example.org/a \r") == NewItem(url: "https://example.org/a"))
        #expect(try line("\u{FEFF}https://example.org/a", isFirst: true) == NewItem(url: "https://example.org/a"))
        let object =
            #"{"url":"https://example.org","title":"T","tags":["a","b"],"note":null,"type":"article","summarize":true}"#
        #expect(
            try line(object)
                == NewItem(url: "https://example.org", title: "T", tags: ["a", "b"], type: "article", summarize: true))
        #expect(try line(#"  {"note":"x"}"#) == NewItem(note: "x"))
        // Validation, not reading, says that there is nothing in it.
        #expect(try line("{}") == NewItem())
    }

    @Test(arguments: ["", " ", "\t \r", "\u{A0}\u{2003}"])
    func blankLinesAreNothing(text: String) throws {
        #expect(try line(text) == nil)
    }

    @Test(arguments: [
        (#"{"url":"x","foo":1}"#, "\"foo\" is not a known member."), (#"{"url":1}"#, "url must be a string."),
        (#"{"tags":[1]}"#, "tags must be an array of strings."),
        (#"{"tags":"a"}"#, "tags must be an array of strings."),
        (#"{"summarize":"yes"}"#, "summarize must be true or false."), (#"{"note":"hi""#, "unfinished JSON text"),
        (#"{"note":"hi"} x"#, "text after the JSON value"), (#"{"url":"a","url":"b"}"#, "\"url\" is given twice."),
        (#"{"item":"a"}"#, "\"item\" does not belong here."), (#"{"action":"delete"}"#, "\"action\" does not belong"),
        (#"{"note":"\ud800"}"#, "half of a surrogate pair"), (#"{"\u001b[2J":1}"#, #""\u{1B}[2J" is not a known"#),
    ])
    func whatIsNoItemIsRefusedWithItsReason(text: String, part: String) throws {
        let error = try #require(thrown(UserFacingError.self) { try line(text) })
        #expect(error.code == .writeInvalid)
        #expect(error.message.contains(part), "\(error.message)")
    }

    @Test func bytesThatAreNotUTF8AreRefused() throws {
        let error = try #require(thrown(UserFacingError.self) { try CaptureLine.item([0x68, 0xFF]) })
        #expect(error.message == "The line is not UTF-8.")
    }

    // MARK: Lines

    /// All items of some bytes in a file.
    private func items(_ bytes: [UInt8], limit: Int) throws -> [LineReader.Item] {
        let folder = TemporaryDirectory()
        try TestFile.write(bytes, to: folder.file("input"))
        let descriptor = open(folder.file("input"), O_RDONLY)
        defer { close(descriptor) }
        var reader = LineReader(descriptor: descriptor, limit: limit)
        var items: [LineReader.Item] = []
        repeat { items.append(try reader.next(pauseAfter: 0)) } while items.last != .end
        return items.dropLast()
    }

    private func lines(_ texts: String...) -> [LineReader.Item] { texts.map { .line(Array($0.utf8)) } }

    @Test func linesEndAtNewlinesAndTheLastNeedsNone() throws {
        #expect(try items(Array("a\n\nb".utf8), limit: 10) == lines("a", "", "b"))
        #expect(try items(Array("a\n".utf8), limit: 10) == lines("a"))
        #expect(try items(Array("\n".utf8), limit: 10) == lines(""))
        #expect(try items([], limit: 10) == [])
    }

    @Test(arguments: [10, 11, 65_535, 65_536, 65_537, 200_000, 1_000_000])
    func aLineThatIsTooLongIsReadOver(length: Int) throws {
        let long = [UInt8](repeating: UInt8(ascii: "x"), count: length)
        let isTooLong = length > 10
        let expected: LineReader.Item = isTooLong ? .tooLong : .line(long)
        let newline: [UInt8] = [0x0A]
        #expect(
            try items(Array("a\n".utf8) + long + newline + Array("b".utf8), limit: 10)
                == lines("a") + [expected] + lines("b"))
        #expect(try items(long, limit: 10) == [expected])
        #expect(try items(long + newline + long + newline, limit: 10) == [expected, expected])
    }

    @Test func anInputThatSendsNothingIsReportedAndGoesOn() throws {
        var ends: [Int32] = [-1, -1]
        #expect(pipe(&ends) == 0)
        defer { close(ends[0]) }
        var reader = LineReader(descriptor: ends[0], limit: 100)
        #expect(write(ends[1], "a\nb", 3) == 3)
        #expect(try reader.next(pauseAfter: nil) == .line(Array("a".utf8)))
        #expect(try reader.next(pauseAfter: 0) == .pause)
        #expect(write(ends[1], "c\n", 2) == 2)
        #expect(try reader.next(pauseAfter: 0) == .line(Array("bc".utf8)))
        close(ends[1])
        #expect(try reader.next(pauseAfter: nil) == .end)
    }

    @Test func aFolderCannotBeRead() throws {
        let folder = TemporaryDirectory()
        let descriptor = open(folder.path, O_RDONLY)
        defer { close(descriptor) }
        var reader = LineReader(descriptor: descriptor, limit: 100)
        do throws(LineReader.Failure) {
            _ = try reader.next(pauseAfter: nil)
            Issue.record("read")
        } catch {
            #expect(error.code == EISDIR)
        }
    }
}
