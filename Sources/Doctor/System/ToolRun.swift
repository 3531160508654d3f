import CLinux
import Glibc
import PRSNLCore

/// One run of a program of the system, for what it prints. It is killed when it takes too long.
struct ToolRun {
    var output: [UInt8] = []
    var errors: [UInt8] = []
    /// `nil` where it did not end by itself.
    var status: Int32?

    /// Why it told nothing, in words.
    struct Failure: Error {
        let reason: String
    }

    /// More is cut off.
    private static let limit = 4 << 20

    /// - Parameter path: absolute, so that no user's `PATH` decides what root runs.
    init(_ path: String, _ arguments: [String], within limit: Duration) throws(Failure) {
        var outputEnds: [Int32] = [-1, -1]
        var errorEnds: [Int32] = [-1, -1]
        guard pipe(&outputEnds) == 0 else { throw Failure(reason: String(cString: strerror(errno))) }
        guard pipe(&errorEnds) == 0 else {
            outputEnds.forEach { close($0) }
            throw Failure(reason: String(cString: strerror(errno)))
        }
        let process: pid_t
        do throws(Failure) {
            defer {
                close(outputEnds[1])
                close(errorEnds[1])
            }
            process = try Self.spawn(path, arguments, outputEnds, errorEnds)
        } catch {
            close(outputEnds[0])
            close(errorEnds[0])
            throw error
        }
        let isComplete = collect(outputEnds[0], errorEnds[0], until: .now + limit)
        close(outputEnds[0])
        close(errorEnds[0])
        // A program that has closed its output is at its end. One that has not is hanging.
        if !isComplete { kill(process, SIGKILL) }
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0 && errno == EINTR {}
        guard isComplete else { throw Failure(reason: "\(path) did not answer in time") }
        if prsnl_wait_exited(status) != 0 { self.status = prsnl_wait_exit_status(status) }
    }

    /// The first line of what it complained about.
    var complaint: String? {
        String(decoding: errors, as: UTF8.self).split(separator: "\n").first.map(String.init)
    }

    private static func spawn(
        _ path: String, _ arguments: [String], _ output: [Int32], _ errors: [Int32]
    ) throws(Failure) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO)
        posix_spawn_file_actions_adddup2(&actions, errors[1], STDERR_FILENO)
        // The others are not for it, nor for what another check starts meanwhile.
        for descriptor in output + errors { _ = prsnl_fcntl_int(descriptor, F_SETFD, FD_CLOEXEC) }
        // Its words are compared: no translations, no pager, no colours. XDG_RUNTIME_DIR leads to the user's own systemd.
        var variables = ["LC_ALL=C", "SYSTEMD_PAGER=", "SYSTEMD_COLORS=0", "PATH=/usr/bin:/bin"]
        for name in ["XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "HOME"] {
            if let value = getenv(name) { variables.append("\(name)=\(String(cString: value))") }
        }
        var process = pid_t()
        let code = withCStrings([path] + arguments) { arguments in
            withCStrings(variables) { posix_spawn(&process, path, &actions, nil, arguments, $0) }
        }
        guard code == 0 else { throw Failure(reason: "\(path): \(String(cString: strerror(code)))") }
        return process
    }

    /// - Returns: whether both came to their end in time.
    private mutating func collect(_ output: Int32, _ errors: Int32, until end: ContinuousClock.Instant) -> Bool {
        var isOpen = [true, true]
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while isOpen.contains(true) {
            var descriptors = [
                pollfd(fd: isOpen[0] ? output : -1, events: Int16(POLLIN), revents: 0),
                pollfd(fd: isOpen[1] ? errors : -1, events: Int16(POLLIN), revents: 0),
            ]
            let left = ContinuousClock.now.duration(to: end)
            guard left > .zero else { return false }
            guard poll(&descriptors, 2, Int32(clamping: left.wholeMilliseconds + 1)) > 0 else { continue }
            for index in 0..<2 where descriptors[index].revents != 0 {
                let count = read(descriptors[index].fd, &buffer, buffer.count)
                if count <= 0 {
                    if count == 0 || errno != EINTR { isOpen[index] = false }
                } else if index == 0, self.output.count < Self.limit {
                    self.output += buffer[..<count]
                } else if index == 1, self.errors.count < Self.limit {
                    self.errors += buffer[..<count]
                }
            }
        }
        return true
    }

    private static func withCStrings<Result>(
        _ texts: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
    ) -> Result {
        let pointers = texts.map { strdup($0) }
        defer { pointers.forEach { free($0) } }
        return body(pointers + [nil])
    }
}
