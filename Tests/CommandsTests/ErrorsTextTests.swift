import CommandSamples
import PRSNLCore
import Store
import Testing

@testable import Commands
@testable import Console
@testable import Requests

extension Samples {
    static let recurring: [RecurringError] = [
        .init(
            code: "connect_failed", endpoint: "GET /api/timeline",
            message: "Network error: could not connect to the server.", first: time("2026-11-21T01:00:00Z"),
            last: time("2026-11-21T04:05:44Z"), count: 1_037, isOver: false),
        .init(
            code: "code_of_tomorrow", endpoint: "GET /\u{1B}", message: "", first: time("2026-11-21T04:05:14Z"),
            last: time("2026-11-21T04:05:14Z"), count: 1, isOver: false),
        .init(
            code: "offline", endpoint: "GET /api/auth/me", message: "No route to prsnl.example.org.",
            first: time("2026-11-20T22:00:00Z"), last: time("2026-11-20T23:00:00Z"), count: 2, isOver: true),
    ]

    static let errors = ErrorsReport(source: .daemon, generatedAt: now, errors: recurring)
    static let forgotten = ErrorsReport(source: .file, generatedAt: now, cleared: 3)
}

@Suite struct ErrorsTextTests {
    @Test func eachErrorComesWithItsTimesAndItsCure() {
        #expect(
            Samples.errors.text(TextStyle())
                == """
                connect_failed at GET /api/timeline, 1,037 times
                  first  2026-11-21 01:00:00 (3 h ago)
                  last   2026-11-21 04:05:44 UTC (30 s ago)
                  Network error: could not connect to the server.
                  Check that the server runs and that its port can be reached from here.

                code_of_tomorrow at GET /\\u{1B}, once
                  last   2026-11-21 04:05:14 (1 min ago)

                offline at GET /api/auth/me, 2 times; it is over
                  first  2026-11-20 22:00:00 (6 h ago)
                  last   2026-11-20 23:00:00 (5 h ago)
                  No route to prsnl.example.org.

                """)
    }

    @Test func nothingAndForgottenHaveWordsToo() {
        #expect(ErrorsReport(source: .file, generatedAt: Samples.now).text(TextStyle()) == "No errors.\n")
        #expect(Samples.forgotten.text(TextStyle()) == "forgot 3 errors\n")
    }

    @Test func onlyWhatGoesOnIsPainted() {
        var style = TextStyle()
        style.hasColour = true
        let text = Samples.errors.text(style)
        #expect(text.contains("\u{1B}[31mconnect_failed"))
        #expect(text.contains("\noffline"))
    }
}
