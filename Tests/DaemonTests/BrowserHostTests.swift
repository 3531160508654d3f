import Commands
import DevServer
import Glibc
import PRSNLCore
import Requests
import Store
import TestSupport
import Testing

/// `prsnlctl browser-host`, as a browser talks to it.
@Suite struct BrowserHostTests {
    private func fixture() async throws -> DaemonFixture {
        let fixture = try DaemonFixture(items: DevItem.generate(count: 3), WriteScene.makeQuick)
        try #require(try await fixture.run(["--once"]).exit == .status(0))
        return fixture
    }

    private func message(_ text: String, size: UInt32? = nil) -> String {
        // No length here has a byte of more than 7 bits, so that the input is a text.
        let bytes = withUnsafeBytes(of: size ?? UInt32(text.utf8.count)) { Array($0) }
        return String(decoding: bytes, as: UTF8.self) + text
    }

    /// The answers, without their lengths.
    private func answers(_ output: String) -> [String] {
        output.split(separator: "\0").filter { $0.contains("{") }.map { String($0.prefix { $0 != "}" }) + "}" }
    }

    @Test func aPageIsCapturedAndOthersAreRefused() async throws {
        let fixture = try await fixture()
        let input = [
            #"{"url":"https://example.org/a","title":"A","selection":"chosen"}"#, #"{"url":"about:blank"}"#,
            #"{"url":"https://example.org/b","tags":["x"]}"#, "no JSON", #"{"url":"https://example.org/c"}"#,
        ].map { message($0) }.joined()
        let ended = try await fixture.control("browser-host", input: input)
        #expect(ended.exit == .status(0), "\(ended)")
        let said = answers(ended.stdout)
        #expect(said.count == 5 && said[0] == ##"{"queued":"#1"}"## && said[4] == ##"{"queued":"#2"}"##, "\(said)")
        #expect(said[1...3].allSatisfy { $0.hasPrefix("{\"error\":\"") }, "\(said)")
        let entries = try StoreReader(path: fixture.database).outbox(.all, limit: 10).entries.sorted { $0.id < $1.id }
        let items = entries.compactMap { entry in if case .create(let item) = entry.payload { item } else { nil } }
        #expect(
            items == [
                NewItem(url: "https://example.org/a", title: "A", note: "chosen"),
                NewItem(url: "https://example.org/c"),
            ])
    }

    @Test func whatIsLeftOutIsSaid() async throws {
        let fixture = try await fixture()
        let (title, selection) = (String(repeating: "t", count: 9_000), String(repeating: "s", count: 90_000))
        let text = "{\"url\":\"https://example.org/a\",\"title\":\"\(title)\",\"selection\":\"\(selection)\"}"
        // Of a length whose four bytes are a text.
        let padding = (0..<0x10000).first { ($0 + text.utf8.count) & 0x80_8080 == 0 } ?? 0
        let ended = try await fixture.control(
            "browser-host", input: message(text + String(repeating: " ", count: padding)))
        let said = answers(ended.stdout)
        #expect(said.count == 1 && said[0].contains("\"left_out\":\"") && said[0].contains("title"), "\(said)")
        #expect(said.first?.contains("The selection is cut to") == true, "\(said)")
    }

    @Test func aMessageThatIsCutOffOrTooLongEndsIt() async throws {
        let fixture = try await fixture()
        for wrong in [message("{}", size: 90), message("{}", size: 0x0101_0101), "ab"] {
            let ended = try await fixture.control("browser-host", input: wrong)
            #expect(ended.exit == .status(1) && ended.stdout.isEmpty && !ended.stderr.isEmpty, "\(ended)")
        }
    }

    @Test func theManifestsNameAProgramThatRuns() async throws {
        let fixture = try await fixture()
        let none = try await fixture.control("browser-host", "--install")
        #expect(none.exit == .status(1) && none.stderr.contains("Start the browser once"), "\(none)")
        try #require(mkdir(fixture.folder.file(".mozilla"), 0o700) == 0)
        let ended = try await fixture.control("browser-host", "--install")
        let manifest = fixture.folder.file(".mozilla/native-messaging-hosts/org.prsnld.capture.json")
        #expect(ended.exit == .status(0) && ended.stdout == "written: \(manifest)\n", "\(ended)")
        let program = fixture.folder.file(".local/share/prsnld/browser-host")
        let text = try TestFile.text(manifest)
        #expect(
            text.contains("\"path\":\"\(program)\"") && text.contains("\"allowed_extensions\":[\"capture@prsnld\"]"))
        // As a browser starts it: with arguments of its own, from another folder.
        let child = try ChildProcess(
            program, [manifest, "capture@prsnld"], environment: fixture.environment([:]), directory: "/",
            input: message(#"{"url":"https://example.org/a"}"#))
        #expect(try await child.waitForExit() == .status(0), "\(child.stderr)")
        #expect(answers(child.stdout) == [##"{"queued":"#1"}"##])
    }
}
