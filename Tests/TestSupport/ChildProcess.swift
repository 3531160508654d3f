import CLinux
import CTestSupport
import Glibc
import Synchronization

/// A running binary, killed and reaped when the last reference goes.
///
/// Its output goes into unlinked files rather than pipes: a child never blocks because a test does not read, and no
/// thread is needed to read along.
package final class ChildProcess: Sendable {
    /// How a process ended.
    package enum Exit: Sendable, Equatable {
        case status(Int32)
        case signal(Int32)
    }

    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    package let processID: Int32
    private let name: String
    private let output: Int32
    private let errors: Int32
    private let exit = Mutex<Exit?>(nil)

    /// Starts a binary.
    ///
    /// - Parameters:
    ///   - environment: all of it; `nil` for this process's own.
    ///   - directory: the working directory; `nil` for this process's own.
    ///   - input: what it reads from stdin; empty by default.
    package init(
        _ path: String, _ arguments: [String] = [], environment: [String: String]? = nil, directory: String? = nil,
        input: String = ""
    ) throws {
        name = path.split(separator: "/").last.map(String.init) ?? path
        output = try Self.unlinkedFile()
        errors = try Self.unlinkedFile()
        let standardInput = try Self.unlinkedFile()
        defer { close(standardInput) }
        let bytes = Array(input.utf8)
        guard write(standardInput, bytes, bytes.count) == bytes.count, lseek(standardInput, 0, SEEK_SET) == 0 else {
            throw Failure(description: "stdin of \(name): errno \(errno)")
        }
        processID = try Self.spawn(
            path, arguments, environment: environment, directory: directory,
            descriptors: [standardInput, output, errors])
    }

    deinit {
        if pollExit() == nil {
            kill(processID, SIGKILL)
            var status: Int32 = 0
            while waitpid(processID, &status, 0) < 0 && errno == EINTR {}
        }
        close(output)
        close(errors)
    }

    /// Runs a binary to its end.
    package static func run(
        _ path: String, _ arguments: [String] = [], environment: [String: String]? = nil, directory: String? = nil,
        input: String = "", within deadline: Duration = generousDeadline
    ) async throws -> (exit: Exit, stdout: String, stderr: String) {
        let child = try ChildProcess(path, arguments, environment: environment, directory: directory, input: input)
        let exit = try await child.waitForExit(within: deadline)
        return (exit, child.stdout, child.stderr)
    }

    // MARK: Output

    /// All that was written to stdout so far.
    package var stdout: String { Self.contents(output) }
    /// All that was written to stderr so far.
    package var stderr: String { Self.contents(errors) }

    /// The first whole line of stdout with this text in it; throws when the process ends without one.
    package func waitForLine(containing text: String, within deadline: Duration = generousDeadline) async throws
        -> String
    {
        try await waitForLine(containing: text, within: deadline) { $0.stdout }
    }

    /// The first whole line of stderr with this text in it; throws when the process ends without one.
    package func waitForErrorLine(
        containing text: String, within deadline: Duration = generousDeadline
    ) async throws -> String {
        try await waitForLine(containing: text, within: deadline) { $0.stderr }
    }

    private func waitForLine(
        containing text: String, within deadline: Duration, in stream: (ChildProcess) -> String
    ) async throws -> String {
        try await eventually("a line with \"\(text)\" from \(name)", within: deadline) { () throws -> String? in
            let ended = pollExit()  // before reading: what was written before the end is then there to read
            let lines = stream(self).split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            if let line = lines.first(where: { $0.contains(text) }) { return String(line) }
            if let ended {
                throw Failure(description: "\(name) ended (\(ended)) without \"\(text)\"; stderr: \(stderr)")
            }
            return nil
        }
    }

    // MARK: Ending

    /// Sends a signal; a process that has ended is left alone.
    package func signal(_ number: Int32) {
        exit.withLock { exit in
            // Not reaped, so the id is still this process's.
            if exit == nil { kill(processID, number) }
        }
    }

    /// How it ended, or `nil` while it runs.
    package func pollExit() -> Exit? {
        exit.withLock { exit in
            if exit == nil {
                var status: Int32 = 0
                if waitpid(processID, &status, WNOHANG) == processID {
                    exit =
                        prsnl_wait_exited(status) != 0
                        ? .status(prsnl_wait_exit_status(status)) : .signal(prsnl_wait_signal(status))
                }
            }
            return exit
        }
    }

    package func waitForExit(within deadline: Duration = generousDeadline) async throws -> Exit {
        try await eventually("\(name) to end", within: deadline) { pollExit() }
    }

    /// SIGTERM, then waits.
    package func terminate(within deadline: Duration = generousDeadline) async throws -> Exit {
        signal(SIGTERM)
        return try await waitForExit(within: deadline)
    }
}

extension ChildProcess {
    private static func unlinkedFile() throws -> Int32 {
        var template = Array("/tmp/prsnl-child-XXXXXX".utf8CString)
        let file = mkstemp(&template)
        guard file >= 0, prsnl_fcntl_int(file, F_SETFD, FD_CLOEXEC) == 0 else {
            throw Failure(description: "temporary file: errno \(errno)")
        }
        unlink(template)
        return file
    }

    private static func contents(_ file: Int32) -> String {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while case let count = pread(file, &chunk, chunk.count, bytes.count), count > 0 { bytes += chunk[..<count] }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func spawn(
        _ path: String, _ arguments: [String], environment: [String: String]?, directory: String?, descriptors: [Int32]
    ) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (target, descriptor) in descriptors.enumerated() {
            posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(target))
        }
        prsnl_spawn_close_from(&actions, 3)
        if let directory { prsnl_spawn_chdir(&actions, directory) }

        // What the thread sanitizer must not report is the same in every program.
        let sanitizer = currentEnvironment().filter { $0.hasPrefix("TSAN_OPTIONS=") }
        let given = environment?.map { "\($0.key)=\($0.value)" }
        let environmentLines = given.map { $0 + sanitizer } ?? currentEnvironment()
        var processID = pid_t()
        let code = withCStrings([path] + arguments) { argv in
            withCStrings(environmentLines) { envp in
                withSpawnAttributes { posix_spawn(&processID, path, &actions, &$0, argv, envp) }
            }
        }
        guard code == 0 else { throw Failure(description: "start \(path): \(String(cString: strerror(code)))") }
        return processID
    }

    private static func currentEnvironment() -> [String] {
        var lines: [String] = []
        var entry = environ
        while let line = entry.pointee {
            lines.append(String(cString: line))
            entry += 1
        }
        return lines
    }

    private static func withCStrings<Result>(
        _ texts: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
    ) -> Result {
        let pointers = texts.map { strdup($0) }
        defer { pointers.forEach { free($0) } }
        return body(pointers + [nil])
    }
}
