import Configuration
import Console
import Glibc
import PRSNLCore
import Synchronization

/// Log lines to stderr: with a priority for journald when that is where stderr goes, else with a time for people.
final class Logger: Sendable {
    enum Form: Sendable, Equatable {
        /// `<6>pull: message`: journald keeps the time itself and reads the priority (sd-daemon(3)).
        case journal
        /// `2026-11-21T04:06:14.123Z info    pull    message`
        case plain
    }

    private let level: Atomic<Int>
    private let form: Form
    /// The daemon whose commands the lines name.
    private let unit: ServiceUnit
    private let now: @Sendable () -> Timestamp

    init(
        level: LogLevel, form: Form, unit: ServiceUnit, now: @escaping @Sendable () -> Timestamp = TimeSource.system.now
    ) {
        self.level = Atomic(level.rawValue)
        self.form = form
        self.unit = unit
        self.now = now
    }

    /// Takes effect at once, for all who log.
    func setLevel(_ level: LogLevel) { self.level.store(level.rawValue, ordering: .relaxed) }

    var handler: LogHandler {
        { [self] level, category, message in log(level, category, message) }
    }

    func log(_ level: LogLevel, _ category: LogCategory, _ message: Advice) {
        guard level.rawValue <= self.level.load(ordering: .relaxed) else { return }
        // One write per line, so that lines of different threads do not mix; a message never makes a second line.
        StandardStream.error.write(line(level, category, SafeText.harmless(unit.fit(message).description)) + "\n")
    }

    private func line(_ level: LogLevel, _ category: LogCategory, _ message: String) -> String {
        switch form {
        case .journal: return "<\(level.rawValue)>\(category.rawValue): \(message)"
        case .plain:
            let time = now().description.prefix(23) + "Z"
            let columns = [level.name, category.rawValue].map { TextLayout.padRight($0, to: 7) }
            return "\(time) \(columns[0]) \(columns[1]) \(message)"
        }
    }
}

extension Logger.Form {
    /// systemd.exec(5): `$JOURNAL_STREAM` is "device:inode" of the stream; it only counts if that is what stderr really is.
    init(environment: [String: String]) {
        self = .plain
        guard let stream = environment["JOURNAL_STREAM"] else { return }
        var information = stat()
        guard fstat(STDERR_FILENO, &information) == 0 else { return }
        if stream == "\(information.st_dev):\(information.st_ino)" { self = .journal }
    }
}
