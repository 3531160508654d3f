import Console
import PRSNLCore
import TestSupport
import Testing

@testable import Commands

/// How far a long piece of work is, and how it is shown.
@Suite struct ProgressTests {
    private let time = VirtualTime()

    @Test func theRateIsThatOfTheLastTenSeconds() {
        var meter = ProgressMeter(.texts, of: 10_000, time: time.source)
        func work(_ seconds: Int, _ itemsPerSecond: Int) -> [Duration] {
            (0..<seconds).map { _ in
                time.advance(by: .seconds(1))
                meter.reach(meter.progress.items + itemsPerSecond)
                return meter.progress.remaining ?? .zero
            }
        }
        #expect(work(20, 200).last == .seconds(30))
        _ = work(12, 20)
        #expect(meter.progress.rate == 20, "what was quick long ago does not count any more")
        // Fewer, but not by leaps.
        let left = work(30, 20)
        for (before, after) in zip(left, left.dropFirst()) { #expect(before - after == .seconds(1)) }
    }

    @Test func workInPiecesGoesOnWhereItWas() {
        var meter = ProgressMeter(.texts, of: 100, time: time.source)
        time.advance(by: .seconds(1))
        meter.reach(60)
        meter.expect(45)
        #expect(meter.progress.items == 60)
        #expect(meter.progress.expectedItems == 105)
        meter.reach(110)
        #expect(meter.progress.expectedItems == 110, "more than all there is is not shown")
    }

    @Test func aPipeGetsALineEveryTenSecondsAndNoneOfShortWork() {
        var display = ProgressDisplay(style: TextStyle())
        var progress = Progress(kind: .capture, startedAt: time.now)
        let start = ContinuousClock.now
        var lines: [String] = []
        for tenth in 0..<350 {
            progress.items = tenth
            progress.rate = 10
            if let line = display.text(progress, at: start + .milliseconds(100 * tenth)) { lines.append(line) }
        }
        #expect(
            lines == [
                "capture: 100 lines, 10 lines/s", "capture: 200 lines, 10 lines/s", "capture: 300 lines, 10 lines/s",
            ])
        var quiet = ProgressDisplay(style: TextStyle(), isQuiet: true)
        #expect(quiet.text(progress, at: start) == nil)
        #expect(quiet.text(progress, at: start + .seconds(60)) == nil)
    }

    @Test func theLineNamesWhatIsLeft() {
        var progress = Progress(kind: .sweep, startedAt: time.now)
        (progress.items, progress.expectedItems, progress.pages, progress.rate) = (12_300, 50_000, 123, 1_230)
        #expect(progress.text == "sweep: 12,300 of 50,000 items, 123 pages, 1,230 items/s, 30 s left")
    }
}
