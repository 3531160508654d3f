import Commands
import PRSNLCore
import TestSupport
import Testing

@Suite struct StatsCommandTests {
    @Test func whatIsCountedIsWhatTheCopyHas() async throws {
        let scene = try await ExportScene()
        try await scene.change(
            """
            UPDATE item SET created_at = '2026-10-02T10:00:00.000000Z', url = 'https://www.example.net/x', type = 'video',
                tags = '["bread","soup"]' WHERE title = 'Item 1';
            UPDATE item SET tags = '["soup"]', url = NULL WHERE title = 'Item 2';
            DELETE FROM item_body WHERE item_id = (SELECT id FROM item WHERE title = 'Item 2');
            UPDATE item SET deleted_at = '2026-11-20T10:00:00.000000Z' WHERE title = 'Item 3';
            """)
        let report = try scene.fixture.decode(StatsReport.self, try await scene.fixture.control("stats", "--json"))
        #expect(report.items == 5 && report.texts == 4 && report.waiting == 0)
        #expect(report.months.map { "\($0.name) \($0.items) \($0.texts)" } == ["2026-11 4 3", "2026-10 1 1"])
        #expect(report.types.map { "\($0.name) \($0.items)" } == ["article 4", "video 1"])
        #expect(report.sites.map { "\($0.name) \($0.items)" } == ["example.org 3", "www.example.net 1"])
        #expect(report.tags.map { "\($0.name) \($0.items) \($0.texts)" } == ["soup 2 1", "bread 1 1"])
        let piped = try await scene.fixture.control("stats")
        #expect(
            piped.stdout.hasPrefix("months  2026-11  4  3\nmonths  2026-10  1  1\ntypes  article  4  3\n"), "\(piped)")
    }
}
