import CLinux
import CTestSupport
import Glibc
import PRSNLCore
import Synchronization

/// A network of a test's own, on a thread of its own: what is made on it (sockets, threads, child processes) lives in that
/// network, and the network ends with it. Needs root.
package final class NetworkNamespace: @unchecked Sendable {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// Whether there is the privilege, and ip(8). In CI it counts as given: there, a test without it fails.
    package static let canBeMade: Bool = {
        if getenv("CI") != nil { return true }
        do {
            _ = try NetworkNamespace()
            return true
        } catch {
            print("network namespaces cannot be made: \(error)")
            return false
        }
    }()

    private typealias Job = @Sendable () -> Void
    private let shared: Shared
    private let thread: WorkerThread

    package convenience init() throws {
        try self.init {
            guard prsnl_unshare_network() == 0 else { throw Failure(description: "unshare: errno \(errno)") }
        }
        try run("ip", "link", "set", "lo", "up")
    }

    /// An existing network, as it is: `/proc/PID/ns/net`.
    package convenience init(joining path: String) throws {
        try self.init {
            let file = prsnl_open(path, O_RDONLY | O_CLOEXEC, 0)
            guard file >= 0 else { throw Failure(description: "\(path): errno \(errno)") }
            defer { close(file) }
            guard prsnl_join_network(file) == 0 else { throw Failure(description: "setns: errno \(errno)") }
        }
    }

    private init(enter: @escaping @Sendable () throws -> Void) throws {
        let shared = Shared()
        self.shared = shared
        thread = WorkerThread(name: "network") { shared.work() }
        try perform(enter)
    }

    /// The network is gone when this returns, unless something else still lives in it.
    deinit {
        shared.end()
        thread.join()
    }

    private final class Shared: Sendable {
        private let jobs = Mutex<(waiting: [Job], isEnding: Bool)>(([], false))
        private let wakeup = ThreadWakeup()

        func add(_ job: @escaping Job) {
            jobs.withLock { $0.waiting.append(job) }
            wakeup.signal()
        }

        func end() {
            jobs.withLock { $0.isEnding = true }
            wakeup.signal()
        }

        func work() {
            while true {
                let (waiting, isEnding) = jobs.withLock { jobs in
                    defer { jobs.waiting = [] }
                    return jobs
                }
                for job in waiting { job() }
                guard waiting.isEmpty else { continue }
                if isEnding { return }
                wakeup.wait()
            }
        }
    }

    /// Runs `body` on the network's thread and waits for it. A `ChildProcess` that is made here lives in the network.
    package func perform<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) throws -> Result {
        let result = Mutex<Swift.Result<Result, any Error>?>(nil)
        let done = ThreadWakeup()
        shared.add {
            let outcome = Swift.Result { try body() }
            result.withLock { $0 = outcome }
            done.signal()
        }
        done.wait()
        guard let outcome = result.withLock({ $0 }) else { throw Failure(description: "nothing was done") }
        return try outcome.get()
    }

    /// Where the network can be named: `ip link set v1 netns PATH` puts the other end of a pair into it.
    package var path: String {
        get throws {
            try perform {
                var target = [CChar](repeating: 0, count: 64)
                // PID/task/TID
                guard readlink("/proc/thread-self", &target, target.count - 1) > 0 else {
                    throw Failure(description: "/proc/thread-self: errno \(errno)")
                }
                let bytes = target.prefix { $0 != 0 }.map { UInt8(truncatingIfNeeded: $0) }
                let thread = String(decoding: bytes, as: UTF8.self)
                return "/proc/\(thread)/ns/net"
            }
        }
    }

    /// Sets one of the kernel's values for this network: `set("net/ipv4/ip_forward", "1")`.
    package func set(_ name: String, _ value: String) throws {
        try perform {
            guard let file = fopen("/proc/sys/\(name)", "we") else {
                throw Failure(description: "\(name): errno \(errno)")
            }
            let isWritten = fputs(value, file) >= 0
            guard fclose(file) == 0, isWritten else { throw Failure(description: "\(name) = \(value): errno \(errno)") }
        }
    }

    /// Runs a program in this network and waits for it.
    package func run(_ program: String, _ arguments: String...) throws {
        try run(program, arguments)
    }

    package func run(_ program: String, _ arguments: [String]) throws {
        try perform {
            var argv: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) } + [nil]
            defer { for text in argv { free(text) } }
            var pid: pid_t = 0
            let code = posix_spawnp(&pid, program, nil, nil, &argv, environ)
            guard code == 0 else { throw Failure(description: "\(program): errno \(code)") }
            var status: Int32 = 0
            while waitpid(pid, &status, 0) < 0 && errno == EINTR {}
            guard prsnl_wait_exited(status) != 0, prsnl_wait_exit_status(status) == 0 else {
                throw Failure(description: "\(program) \(arguments.joined(separator: " ")): status \(status)")
            }
        }
    }
}
