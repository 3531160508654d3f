import Configuration
import PRSNLCore
import TestSupport
import Testing

@testable import NetMonitor
@testable import SyncEngine

/// Many daemons and one server, in virtual time, with the engine's own values: what the server sees of them.
@Suite struct CrowdTests {
    /// Seconds from the start.
    private static let outage = 6 * 3_600..<6 * 3_600 + 4_500
    private static let day = 86_400

    @Test func anOutageLeavesNoTrace() {
        let seed = UInt64.random(in: .min ... .max)
        var crowd = Crowd(count: LongSearch.isOn ? 10_000 : 1_000, outage: Self.outage, seed: seed)
        crowd.run(until: Self.outage.upperBound + Self.day)
        let share = Double(crowd.daemons.count) / 10_000
        /// Requests a second of 10,000 daemons.
        func mean(_ seconds: Range<Int>) -> Double {
            Double(crowd.requests[seconds].reduce(0, +)) / Double(seconds.count) / share
        }
        func peak(_ seconds: Range<Int>, minutes: Int = 1) -> Double {
            stride(from: seconds.lowerBound, to: seconds.upperBound - 60 * minutes, by: 60 * minutes)
                .map { mean($0..<$0 + 60 * minutes) }.max() ?? 0
        }
        let quiet = mean(3_600..<Self.outage.lowerBound)
        let back = Self.outage.upperBound
        let away = mean(back - 600..<back)
        let figures = (
            quiet: quiet, away: away, returning: peak(back..<back + 3_600),
            later: peak(back + Self.day - 3_600..<back + Self.day, minutes: 5),
            freshAfter: crowd.daemons.map(\.freshAt).max()! - back
        )
        print("seed \(seed): \(figures)")
        #expect(figures.away <= 2 * quiet, "\(figures)")
        #expect(figures.returning <= 6 * quiet && figures.returning <= 100, "\(figures)")
        // Of a tenth of them, five minutes are more uneven.
        #expect(figures.later <= (LongSearch.isOn ? 1.2 : 1.6) * quiet, "\(figures)")
        #expect(figures.freshAfter <= 900, "\(figures)")
    }
}

private struct Crowd {
    struct Daemon {
        var rules = ConnectivityRules()
        var schedule = Schedule(settings: SyncSettings())
        /// When it had the newest items for the first time after the outage.
        var freshAt = 0
    }

    private static let items = 5_000
    private static let requestsOfSweep = items / SyncSettings().pageSize
    private static let start = Timestamp(microseconds: 1_700_000_000_000_000)

    private(set) var daemons: [Daemon] = []
    /// In each second.
    private(set) var requests: [Int]
    private var due: [[Int32]]
    private let outage: Range<Int>
    private let random: SeededGenerator
    private let refusal = UserFacingError(.connectFailed, "The server refuses connections.")

    init(count: Int, outage: Range<Int>, seed: UInt64) {
        random = SeededGenerator(seed: seed)
        self.outage = outage
        let seconds = outage.upperBound + 2 * 86_400
        requests = Array(repeating: 0, count: seconds)
        due = Array(repeating: [], count: seconds)
        // All for days at work: their polls and sweeps are anywhere.
        for number in 0..<count {
            var daemon = Daemon()
            daemon.schedule.live = Self.items
            daemon.schedule.isComplete = true
            daemon.schedule.lastNews = .earliest
            daemon.schedule.lastPull = Self.start.advanced(by: .seconds(-900 * random.unit()))
            daemon.schedule.editsAsOf = Self.start.advanced(by: .seconds(-86_400 * random.unit()))
            _ = daemon.rules.noteAnswer(isProbe: false, at: Self.start)
            daemons.append(daemon)
            plan(number, now: Self.start, second: 0)
        }
    }

    mutating func run(until end: Int) {
        for second in 0..<end {
            let numbers = due[second]
            due[second] = []
            for number in numbers { step(Int(number), second) }
        }
    }

    private mutating func step(_ number: Int, _ second: Int) {
        let uptime = Duration.seconds(Double(second) + random.unit())
        let now = Self.start.advanced(by: uptime)
        let isAway = outage.contains(second)
        if daemons[number].rules.current.state == .online {
            let next = daemons[number].schedule.next(now: now)
            if next.at <= now {
                isAway ? fail(number, second, isProbe: false, now, uptime) : work(number, next.work, second, now)
            }
        } else if let probeAt = daemons[number].rules.probeAt, probeAt <= uptime {
            daemons[number].rules.beginProbe(uptime: uptime)
            isAway ? fail(number, second, isProbe: true, now, uptime) : comeBack(number, second, now)
        }
        plan(number, now: now, second: second)
    }

    private mutating func fail(_ number: Int, _ second: Int, isProbe: Bool, _ now: Timestamp, _ uptime: Duration) {
        requests[second] += 1
        _ = daemons[number].rules.noteFailure(
            refusal, isProbe: isProbe, host: "prsnl.example", at: now, uptime: uptime, draw: random.unit())
    }

    private mutating func comeBack(_ number: Int, _ second: Int, _ now: Timestamp) {
        requests[second] += 1
        let outcome = daemons[number].rules.noteAnswer(isProbe: true, at: now)
        daemons[number].schedule.forgetFailures()
        daemons[number].schedule.serverReturned(
            at: now, after: outcome.silence, draws: (random.unit(), random.unit()))
    }

    private mutating func work(_ number: Int, _ work: Schedule.Work, _ second: Int, _ now: Timestamp) {
        switch work {
        case .sweep:
            // Four fifths of the time are the server's.
            for page in 0..<Self.requestsOfSweep { requests[second + page / 4] += 1 }
            daemons[number].schedule.editsAsOf = now
        default:
            requests[second] += 1
            daemons[number].schedule.headSucceeded(startedAt: now, foundNews: false)
            if second >= outage.upperBound, daemons[number].freshAt == 0 { daemons[number].freshAt = second }
        }
    }

    private mutating func plan(_ number: Int, now: Timestamp, second: Int) {
        let wait =
            if daemons[number].rules.current.state == .online {
                daemons[number].schedule.next(now: now).at.duration(since: Self.start)
            } else {
                daemons[number].rules.probeAt ?? .zero
            }
        due[max(second, Int(wait.components.seconds)) + 1].append(Int32(number))
    }
}
