import PRSNLCore
import Testing

@testable import PRSNLClient

struct RetryAfterTests {
    static let now = Timestamp("1994-11-06T08:49:37Z") ?? .earliest

    @Test(
        arguments: [
            ("120", 120), (" 5\t", 5), ("0", 1), ("99999", 3_600), ("99999999999999999999999", 3_600),
            ("Sun, 06 Nov 1994 08:50:00 GMT", 23), ("Sun, 06 Nov 1994 08:00:00 GMT", 1),
            ("Fri, 31 Dec 9999 23:59:59 GMT", 3_600),
        ] as [(String, Int)])
    func aWaitIsReadAndClamped(_ text: String, _ seconds: Int) {
        #expect(RetryAfter.parse(text, date: nil, now: Self.now) == .seconds(seconds))
    }

    @Test(arguments: [
        "", " ", "soon", "-5", "1.5", "5 s", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 06 nov 1994 08:49:37 GMT", "٥",
    ])
    func garbageIsNoWait(_ text: String) {
        #expect(RetryAfter.parse(text, date: nil, now: Self.now) == nil)
    }
}
