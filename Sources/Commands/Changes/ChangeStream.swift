import CLinux
import Console
import Control
import Glibc
import PRSNLCore
import Requests
import Store

/// Reads changes on from a place, to stdout or into a command, and keeps the place behind what was taken.
struct ChangeStream {
    private let context: CommandContext
    private let cursor: Cursor?
    var command: ChangeCommand?
    var follows = false
    var batch: Int?
    var place: ChangePlace?
    /// Only what it finds is handed on.
    var match: SearchQuery?
    /// What the cursor's file has.
    private var saved: ChangePlace?
    /// The numbers of the changes that `match` finds, up to one.
    private var found: (numbers: Set<Int64>, through: Int64)?
    private var hasHeader = false
    private var hasExcuse = false
    private var interruption: Interruption?
    /// In seconds, before the next try; and how many rows were set aside since the command took one.
    private var (wait, inARow) = (1, 0)

    private static let mostRead = 1_000
    /// Rows for one run of a command, unless it is said otherwise.
    private static let usualBatch = 100
    /// How often a batch is tried before it is halved, or its one row set aside.
    private static let tries = 3
    /// After so many rows, one after the other, the wait only grows.
    private static let mostInARow = 10
    /// In seconds, between two tries: twice the one before.
    private static let longestWait = 300
    /// Where no daemon wakes a reader, in milliseconds.
    private static let pause: Int32 = 1_000

    init(_ context: CommandContext, _ cursor: Cursor?) throws(UserFacingError) {
        self.context = context
        self.cursor = cursor
        saved = try cursor?.place()
        place = saved
    }

    mutating func run() throws(UserFacingError) -> ExitCode {
        guard follows else { return try drain() }
        interruption = Interruption.watch(output: command == nil ? STDOUT_FILENO : -1)
        while true {
            do throws(UserFacingError) {
                var client = try context.reach()
                try client.send(WatchRequest(changes: true))
                while true {
                    // The first sign comes at once: what is committed after it is told by another.
                    _ = try client.receive(WatchRequest.self, timeout: nil, interruption: interruption).get()
                    if try drain() != .fine { return .error }
                }
            } catch {
                if error.code == .cancelled { return .fine }
                guard [.daemonNotRunning, .daemonElsewhere, .daemonBusy, .controlRefused].contains(error.code) else {
                    throw error
                }
            }
            // A user who may not ask the daemon reads the file.
            if try drain() != .fine { return .error }
            if isInterrupted(within: Self.pause) { return .fine }
        }
    }

    /// The whole timeline first.
    mutating func reread() throws(UserFacingError) {
        guard command == nil else {
            throw UserFacingError(
                .usage, "--reread prints, and takes no command.",
                recoverySuggestion: "Give its lines to the command yourself, and then go on with --cursor.")
        }
        let context = context
        place = try context.reader().presentItems(matching: match) {
            place throws(UserFacingError) in
            try printHeader(place.epoch, from: place.seq, to: place.seq)
        } _: { row throws(UserFacingError) in
            try context.print(Self.line(row, context))
        }
        if let place { try move(to: place) }
    }

    // MARK: Rows

    /// All that there are now.
    private mutating func drain() throws(UserFacingError) -> ExitCode {
        var left = command == nil ? batch ?? .max : .max
        while left > 0 {
            let limit = command == nil ? min(left, Self.mostRead) : batch ?? Self.usualBatch
            let reader = try context.reader()
            let answer = try reader.changes(after: place, limit: match == nil ? limit : Self.mostRead)
            guard case .changes(var rows, let epoch, let newest) = answer else {
                try miss(answer)
                continue
            }
            try printHeader(epoch, from: place?.seq ?? (rows.first.map { $0.seq - 1 } ?? newest), to: newest)
            guard var last = rows.last else {
                if newest == 0, !hasExcuse {
                    hasExcuse = true
                    context.say("No change is noted yet: that begins when the first pull has ended.")
                }
                // Also where it was given, and nothing has come since.
                try move(to: place ?? ChangePlace(epoch: epoch, seq: newest))
                return .fine
            }
            if let match {
                let front = ChangePlace(epoch: epoch, seq: rows[0].seq - 1)
                if found.map({ $0.through < last.seq }) ?? true {
                    found = (try reader.changes(after: front, matching: match), newest)
                }
                rows.removeAll { found?.numbers.contains($0.seq) != true }
                if rows.count > left {
                    rows.removeSubrange(left...)
                    last = rows[left - 1]
                }
            }
            if let command {
                guard try hand(rows, to: command, epoch) else { return follows ? .fine : .error }
                if match != nil { try move(to: ChangePlace(epoch: epoch, seq: last.seq, at: last.at)) }
            } else {
                for row in rows { try context.print(Self.line(row, context)) }
                try move(to: ChangePlace(epoch: epoch, seq: last.seq, at: last.at))
                left -= rows.count
            }
        }
        return .fine
    }

    private mutating func move(to place: ChangePlace) throws(UserFacingError) {
        if place != saved { try cursor?.move(to: place) }
        (self.place, saved) = (place, place)
    }

    private mutating func printHeader(_ epoch: String, from: Int64, to newest: Int64) throws(UserFacingError) {
        guard !hasHeader, command == nil, !context.isText else { return }
        hasHeader = true
        try context.print(#"{"epoch":"\#(epoch)","from":\#(from),"to":\#(newest)}"# + "\n")
    }

    private static func line(_ row: Change, _ context: CommandContext) -> String {
        guard context.isText else { return row.line + "\n" }
        let front = "\(Formatting.time(row.at))  #\(row.seq)  "
        if row.kind == "pulled" {
            let items = row.new.flatMap { Int($0.filter(\.isNumber)) } ?? 0
            return front + "the first pull has ended: \(Formatting.count(items, "item"))\n"
        }
        let what = [
            row.itemID.map(OutboxWords.shortID), row.title.map { " \"\($0)\"" },
            row.kind == "edited" ? row.fields.map { "(\($0))" } : nil,
            row.kind == "identified" && row.new != nil ? row.fields.map { "as \(OutboxWords.shortID($0))" } : nil,
        ].compactMap(\.self).joined(separator: " ")
        return front + SafeText.harmless("\(row.kind) \(row.origin == "here" ? "here " : "")\(what)") + "\n"
    }

    /// What may have been missed is said, and never an empty list.
    private mutating func miss(_ answer: ChangeAnswer) throws(UserFacingError) {
        let (name, words, next): (String, String, ChangePlace)
        switch answer {
        case .changes: return
        case .gap(let oldest, let epoch):
            next = ChangePlace(epoch: epoch, seq: oldest - 1)
            (name, words) = ("gap", "The changes after #\(place?.seq ?? 0) are kept from #\(oldest) on only")
        case .otherEpoch(let epoch, let newest):
            next = ChangePlace(epoch: epoch, seq: newest)
            (name, words) = ("other_epoch", "The place is of another history of the copy")
        case .future(let newest, let epoch):
            next = ChangePlace(epoch: epoch, seq: newest)
            (name, words) = ("future", "The place #\(place?.seq ?? 0) is after the last change, #\(newest)")
        }
        guard follows, command == nil else {
            throw UserFacingError(.changesMissed, words + ".", consequence: "Changes may have been missed.")
        }
        if context.isText {
            context.say("\(words); changes may have been missed")
        } else {
            try context.print(#"{"missed":"\#(name)","epoch":"\#(next.epoch)","from":\#(next.seq)}"# + "\n")
        }
        (place, found) = (next, nil)
    }

    // MARK: Into a command

    /// At least once and in order. What the command refuses again and again is halved, down to one row, which is set aside: one bad
    /// title stops no hook.
    ///
    /// - Returns: False where it refuses, and no one waits for another try.
    private mutating func hand(
        _ rows: [Change], to command: ChangeCommand, _ epoch: String
    ) throws(UserFacingError) -> Bool {
        var rest = rows[...]
        let most = batch ?? Self.usualBatch
        var (size, failures, isHalved) = (min(rest.count, most), 0, false)
        while let last = rest.prefix(size).last {
            if isInterrupted(within: 0) { return false }
            let lines = rest.prefix(size).map(\.line)
            let outcome = try command.run(lines, interruption)
            if outcome == .taken {
                (wait, inARow, isHalved) = (1, 0, false)
            } else {
                guard follows else {
                    context.say("the command failed; the place stays before #\(rest.first?.seq ?? 0)")
                    return false
                }
                // A stop has ended it, and nothing that it was given.
                if isInterrupted(within: 0) { return false }
                let isRefused = outcome == .refused
                if isRefused { failures += 1 }
                if isRefused, size > 1, isHalved || failures >= Self.tries {
                    (size, failures, isHalved) = (size / 2, 0, true)
                    continue
                }
                guard isRefused, failures >= Self.tries else {
                    if isInterrupted(within: Int32(wait) * 1_000) { return false }
                    wait = min(wait * 2, Self.longestWait)
                    continue
                }
                guard let cursor else { return false }
                try cursor.save(failed: try cursor.failed() + lines)
                // Where the command refuses all of them, few are set aside.
                inARow += 1
                if inARow < Self.mostInARow { wait = 1 }
                context.say("change #\(last.seq) is set aside: `prsnlctl changes --failed --cursor \(cursor.name)`")
            }
            failures = 0
            rest = rest.dropFirst(size)
            size = isHalved ? 1 : max(1, min(rest.count, most, size * 2))
            try move(to: ChangePlace(epoch: epoch, seq: last.seq, at: last.at))
        }
        return true
    }

    private func isInterrupted(within milliseconds: Int32) -> Bool {
        Interruption.wait(for: -1, or: interruption?.descriptor, atMost: milliseconds) == nil
    }
}

/// A command that gets changes on its stdin, a line of JSON each, and says by its exit code whether it has taken them.
struct ChangeCommand {
    private let words: [String]

    /// `nil` where there is none.
    ///
    /// - Throws: `usage`, for the path of no program: the first change may come much later.
    init?(_ words: [String]) throws(UserFacingError) {
        guard let program = words.first else { return nil }
        self.words = words
        guard !program.contains("/") || access(program, X_OK) == 0 else { throw failure(errno) }
    }

    enum Outcome {
        case taken, refused
        /// What it hands them to is away: they are tried until it is there. EX_TEMPFAIL of sysexits.h.
        case notNow
    }

    private static let temporaryFailure: Int32 = 75

    /// - Parameter interruption: is handed on to the command, as SIGTERM.
    /// - Throws: `usage`, where it cannot be started.
    func run(_ lines: [String], _ interruption: Interruption? = nil) throws(UserFacingError) -> Outcome {
        let input = prsnl_memory_file("changes")
        guard input >= 0 else { throw failure(errno) }
        defer { close(input) }
        let text = Array(lines.map { $0 + "\n" }.joined().utf8)
        let written = text.withUnsafeBytes { Descriptors.write($0, to: input) }
        guard written == 0, lseek(input, 0, SEEK_SET) == 0 else { throw failure(written == 0 ? errno : written) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
        let arguments = words.map { strdup($0) } + [nil]
        defer { arguments.forEach { free($0) } }
        var process = pid_t()
        let code = posix_spawnp(&process, words[0], &actions, nil, arguments, environ)
        guard code == 0 else { throw failure(code) }
        let end = prsnl_process_descriptor(process)
        if end >= 0 {
            if Interruption.wait(for: end, or: interruption?.descriptor, atMost: -1) == nil { kill(process, SIGTERM) }
            close(end)
        }
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0 && errno == EINTR {}
        guard prsnl_wait_exited(status) != 0 else { return .refused }
        switch prsnl_wait_exit_status(status) {
        case 0: return .taken
        case Self.temporaryFailure: return .notNow
        default: return .refused
        }
    }

    private func failure(_ code: Int32) -> UserFacingError {
        UserFacingError(
            .usage, "The command \(SafeText.harmless(words[0])) cannot be run: \(String(cString: strerror(code))).",
            consequence: "The place was not moved.")
    }
}
