/// How urgent a log line is, with the priorities of syslog(3), which journald reads from a `<N>` prefix.
package enum LogLevel: Int, Sendable, Comparable, CaseIterable {
    case error = 3
    case warning = 4
    case notice = 5
    case info = 6
    case debug = 7

    /// As the configuration and the log have it.
    package var name: String { "\(self)" }

    package static func < (left: LogLevel, right: LogLevel) -> Bool { left.rawValue < right.rawValue }
}

package enum LogCategory: String, Sendable, CaseIterable {
    case daemon, config, http, net, pull, sweep, store, control
}

/// Takes one line of log. Never a secret, a body, or a title: neither belongs in a log.
package typealias LogHandler = @Sendable (_ level: LogLevel, _ category: LogCategory, _ message: Advice) -> Void
