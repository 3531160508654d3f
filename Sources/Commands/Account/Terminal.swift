import CLinux
import Control
import Glibc
import PRSNLCore

/// The terminal that the command was started from, whatever stdin and stdout are: /dev/tty (tty(4)).
struct Terminal: ~Copyable {
    private let descriptor: Int32

    /// `nil` where there is none: cron, a service, ssh without -t.
    init?() {
        descriptor = prsnl_open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY, 0)
        if descriptor < 0 { return nil }
    }

    deinit { close(descriptor) }

    /// Asks for a line that is shown while it is typed.
    func ask(_ prompt: String) throws(UserFacingError) -> String {
        write(prompt)
        let line = SecretBytes()
        guard line.readLine(from: descriptor), let text = line.text, !text.isEmpty else { throw Self.noAnswer }
        return text
    }

    /// Asks for a line that is not shown.
    ///
    /// The terminal is given back as it was on every way out. A signal that would end or stop the process is only noted
    /// while the terminal is silent, ends the reading, and is raised again when the terminal is as before
    /// (readpassphrase(3) of the BSDs does the same). After SIGCONT the question is asked again.
    func askSecret(_ prompt: String) throws(UserFacingError) -> SecretBytes {
        while true {
            let secret = SecretBytes()
            guard let signals = NotedSignals() else { throw failure() }
            let isLine = try silently {
                write(prompt)
                defer { write("\n") }
                return secret.readLine(from: descriptor, interruption: signals.descriptor)
            }
            signals.end()
            if signals.raiseAll() { continue }
            guard isLine, !secret.isEmpty else { throw Self.noAnswer }
            return secret
        }
    }

    private func silently(_ body: () -> Bool) throws(UserFacingError) -> Bool {
        var before = termios()
        guard tcgetattr(descriptor, &before) == 0 else { throw failure() }
        var silent = before
        silent.c_lflag &= ~tcflag_t(ECHO | ECHONL)
        // TCSAFLUSH: what was typed ahead, and shown, is no part of the password. From the background this is SIGTTOU,
        // which was noted.
        guard tcsetattr(descriptor, TCSAFLUSH, &silent) == 0 else {
            if errno == EINTR { return false }
            throw failure()
        }
        let outcome = body()
        // EINTR here too is SIGTTOU: then another process has the terminal by now, with its own settings.
        tcsetattr(descriptor, TCSAFLUSH, &before)
        return outcome
    }

    private func write(_ text: String) {
        _ = Array(text.utf8).withUnsafeBytes { Descriptors.write($0, to: descriptor) }
    }

    private func failure() -> UserFacingError {
        UserFacingError(
            .usage, "The terminal cannot be made silent: \(String(cString: strerror(errno))).",
            consequence: "No password was asked for.", recoverySuggestion: "Give it with --password-stdin.")
    }

    private static var noAnswer: UserFacingError {
        UserFacingError(
            .cancelled, "Nothing was typed.", consequence: "No login was made.",
            recoverySuggestion: "Give the command again.")
    }
}

/// Signals that are noted rather than obeyed, while the terminal is silent.
private struct NotedSignals {
    /// Readable after one. A pipe and not EINTR, which would miss a signal that comes just before the reading.
    let descriptor: Int32
    private var handlers: [(number: Int32, action: sigaction)] = []

    private static let all = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGTTIN, SIGTTOU]

    init?() {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return nil }
        descriptor = ends[0]
        notes = ends[1]
        noted = 0
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { number in
            // Only what signal-safety(7) allows, and errno as it was.
            let saved = errno
            noted |= 1 << UInt64(number)
            var byte: UInt8 = 0
            write(notes, &byte, 1)
            errno = saved
        }
        for number in Self.all where !Interruption.isIgnored(number) {
            var before = sigaction()
            sigaction(number, &action, &before)
            handlers.append((number, before))
        }
    }

    /// The signals mean again what they meant before.
    func end() {
        for (number, before) in handlers {
            var before = before
            sigaction(number, &before, nil)
        }
        close(descriptor)
        close(notes)
    }

    /// Lets what came happen now. True when the process goes on after it, as after SIGCONT.
    func raiseAll() -> Bool {
        let came = Self.all.filter { noted & (1 << UInt64($0)) != 0 }
        for number in came {
            // The Swift runtime has taken SIGQUIT for itself, to print what this process was doing.
            if number == SIGQUIT { signal(SIGQUIT, SIG_DFL) }
            raise(number)
        }
        return !came.isEmpty
    }
}

// For the handler, which can be given nothing.
private nonisolated(unsafe) var noted: UInt64 = 0
private nonisolated(unsafe) var notes: Int32 = -1

/// A line that was typed or piped in and must not stay in memory: it lies in one place, which is overwritten at the end.
///
/// What the HTTP library makes of it is out of our hands; that is why the process is not dumpable either (`Secrecy`).
final class SecretBytes {
    /// More than a password may have anywhere.
    static let limit = 1_024

    private let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: SecretBytes.limit, alignment: 1)
    private var count = 0

    deinit {
        wipe()
        bytes.deallocate()
    }

    /// The text, as a copy; `nil` where it is not UTF-8.
    var text: String? { String(validating: bytes[..<count], as: UTF8.self) }
    var isEmpty: Bool { count == 0 }

    func wipe() {
        if let base = bytes.baseAddress { prsnl_wipe(base, bytes.count) }
        count = 0
    }

    /// Reads up to a newline, byte by byte, so that nothing behind the line is taken away from the next reader.
    ///
    /// - Parameter interruption: a descriptor that ends the reading as soon as it can be read.
    /// - Returns: false at the end of the input, for a line that is too long, and after an interruption.
    func readLine(from descriptor: Int32, interruption: Int32? = nil) -> Bool {
        wipe()
        while true {
            guard Interruption.wait(for: descriptor, or: interruption, atMost: -1) != nil else { return false }
            var byte: UInt8 = 0
            let got = read(descriptor, &byte, 1)
            if got < 0, errno == EINTR { continue }
            guard got == 1 else { return count > 0 }
            if byte == UInt8(ascii: "\n") {
                // From a file that was made elsewhere.
                if count > 0, bytes[count - 1] == UInt8(ascii: "\r") { count -= 1 }
                return true
            }
            guard count < Self.limit else { return false }
            bytes[count] = byte
            count += 1
        }
    }
}

/// What keeps a secret of this process from others of the same user, and from the disk.
enum Secrecy {
    /// No core dump, and no look from outside: PR_SET_DUMPABLE also makes /proc/PID/mem and environ root's (prctl(2),
    /// ptrace(2)). Failing is impossible for these arguments, or harmless: the limit may be lower already.
    static func begin() {
        _ = prsnl_set_not_dumpable()
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
    }
}
