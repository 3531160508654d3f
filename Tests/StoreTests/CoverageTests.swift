import PRSNLCore
import TestSupport
import Testing

@testable import Store

@Suite struct CoverageTests {
    private func at(_ second: Int) -> Timestamp { Timestamp(microseconds: Int64(second)) }

    private func interval(_ from: Int, _ to: Int, _ readAt: Int) -> Coverage.Interval {
        Coverage.Interval(from: at(from), to: at(to), readAt: at(readAt))
    }

    @Test func neighboursThatTouchAreOneIntervalWithTheOlderRead() {
        var coverage = Coverage()
        coverage.insert(interval(10, 19, 100))
        coverage.insert(interval(20, 30, 200))
        #expect(coverage.intervals == [interval(10, 30, 100)])
    }

    @Test func aGapStaysBetweenIntervalsThatDoNotTouch() {
        var coverage = Coverage()
        coverage.insert(Coverage.Interval(from: .earliest, to: at(5), readAt: at(1)))
        coverage.insert(interval(8, 9, 2))
        #expect(coverage.gaps() == [at(6)...at(7)])
        #expect(!coverage.isComplete)
        #expect(coverage.oldestRead == nil)
        coverage.insert(interval(6, 7, 3))
        #expect(coverage.isComplete)
        #expect(coverage.oldestRead == at(1))
    }

    @Test func aSweepKnowsWhatItHasYetToRead() {
        var coverage = Coverage()
        coverage.insert(Coverage.Interval(from: .earliest, to: at(100), readAt: at(1)))
        coverage.beginSweep(at: at(500))
        #expect(coverage.gaps(sweeping: true) == [.earliest...at(100)])
        coverage.insert(interval(60, 100, 500))
        #expect(coverage.gaps(sweeping: true) == [.earliest...at(59)])
        #expect(coverage.isComplete, "what was read before still counts")
        #expect(coverage.oldestRead == at(1))
        coverage.insert(Coverage.Interval(from: .earliest, to: at(59), readAt: at(500)))
        #expect(coverage.gaps(sweeping: true).isEmpty)
        coverage.endSweep()
        #expect(coverage.oldestRead == at(500))
        #expect(coverage.intervals.count == 1)
    }

    @Test func aHeadPullDuringASweepBelongsToTheSweep() {
        var coverage = Coverage()
        coverage.insert(Coverage.Interval(from: .earliest, to: at(100), readAt: at(1)))
        coverage.beginSweep(at: at(500))
        coverage.insert(interval(90, 120, 600))
        #expect(coverage.gaps(sweeping: true) == [.earliest...at(89)])
    }

    /// Against a model that keeps each instant by itself.
    @Test func randomInsertionsAgreeWithAModel() {
        var random = SeededRandom()
        for _ in 0..<300 {
            let size = 40
            var model = [Int?](repeating: nil, count: size)
            var coverage = Coverage()
            var sweep: Int?
            for clock in 1...30 {
                switch Int.random(in: 0..<10, using: &random) {
                case 0 where sweep == nil:
                    sweep = clock
                    coverage.beginSweep(at: at(clock))
                case 1 where sweep != nil:
                    sweep = nil
                    coverage.endSweep()
                default:
                    let from = Int.random(in: 0..<size, using: &random)
                    let to = Int.random(in: from..<size, using: &random)
                    coverage.insert(interval(from, to, clock))
                    for index in from...to { model[index] = max(model[index] ?? 0, clock) }
                }
                check(coverage, model, sweep)
            }
        }
    }

    private func check(_ coverage: Coverage, _ model: [Int?], _ sweep: Int?) {
        for (index, read) in model.enumerated() {
            let interval = coverage.intervals.first { $0.from <= at(index) && at(index) <= $0.to }
            #expect((interval != nil) == (read != nil), "instant \(index)")
            guard let interval, let read else { continue }
            #expect(interval.readAt <= at(read), "never newer than the truth")
            if let sweep { #expect((interval.readAt >= at(sweep)) == (read >= sweep)) }
            let unswept = coverage.gaps(sweeping: true).contains { $0.contains(at(index)) }
            if let sweep { #expect(unswept == (read < sweep)) }
        }
        for (left, right) in zip(coverage.intervals, coverage.intervals.dropFirst()) {
            #expect(left.to < right.from, "disjoint and in order")
        }
    }
}
