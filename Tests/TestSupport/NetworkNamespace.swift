import CLinux
import Glibc
import Synchronization

/// A network of a test's own, on a thread of its own: what is made on it (sockets, threads, child processes) lives in that
/// network, and the network ends with it. Needs root.
public final class NetworkNamespace: @unchecked Sendable {
    public struct Failure: Error, CustomStringConvertible {
        public let description: String
    }

    /// Whether there is the privilege, and ip(8). In CI it counts as given: there, a test without it fails.
    public static let canBeMade: Bool = {
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
    private let jobs = Mutex<[Job]>([])
    private let wake: Int32

    public convenience init() throws {
        try self.init {
            guard prsnl_unshare_network() == 0 else { throw Failure(description: "unshare: errno \(errno)") }
        }
        try run("ip", "link", "set", "lo", "up")
    }

    /// A network that somebody else has made, as it is: `/proc/PID/ns/net`.
    public convenience init(joining path: String) throws {
        try self.init {
            let file = prsnl_open(path, O_RDONLY | O_CLOEXEC, 0)
            guard file >= 0 else { throw Failure(description: "\(path): errno \(errno)") }
            defer { close(file) }
            guard prsnl_join_network(file) == 0 else { throw Failure(description: "setns: errno \(errno)") }
        }
    }

    private init(enter: @escaping @Sendable () throws -> Void) throws {
        wake = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_SEMAPHORE))
        var thread = pthread_t()
        let start = Unmanaged.passRetained(Start(wake: wake, jobs: { [weak self] in self?.take() }))
        pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                Unmanaged<Start>.fromOpaque(argument).takeRetainedValue().run()
                return nil
            }, start.toOpaque())
        pthread_detach(thread)
        try perform(enter)
    }

    deinit {
        // The thread ends when there is nothing to take from.
        var one: UInt64 = 1
        _ = write(wake, &one, 8)
    }

    private final class Start {
        let wake: Int32
        let jobs: () -> Job?
        init(wake: Int32, jobs: @escaping () -> Job?) {
            self.wake = wake
            self.jobs = jobs
        }

        func run() {
            var count: UInt64 = 0
            while read(wake, &count, 8) == 8, let job = jobs() { job() }
            close(wake)
        }
    }

    private func take() -> Job? { jobs.withLock { $0.isEmpty ? nil : $0.removeFirst() } }

    /// Runs `body` on the network's thread and waits for it. A `ChildProcess` that is made here lives in the network.
    public func perform<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) throws -> Result {
        let result = Mutex<Swift.Result<Result, any Error>?>(nil)
        let done = eventfd(0, Int32(EFD_CLOEXEC))
        defer { close(done) }
        jobs.withLock { jobs in
            jobs.append {
                let outcome = Swift.Result { try body() }
                result.withLock { $0 = outcome }
                var one: UInt64 = 1
                _ = write(done, &one, 8)
            }
        }
        var one: UInt64 = 1
        _ = write(wake, &one, 8)
        var count: UInt64 = 0
        _ = read(done, &count, 8)
        guard let outcome = result.withLock({ $0 }) else { throw Failure(description: "nothing was done") }
        return try outcome.get()
    }

    /// Where the network can be named: `ip link set v1 netns PATH` puts the other end of a pair into it.
    public var path: String {
        get throws {
            try perform {
                var target = [CChar](repeating: 0, count: 64)
                // PID/task/TID
                guard readlink("/proc/thread-self", &target, target.count - 1) > 0 else {
                    throw Failure(description: "/proc/thread-self: errno \(errno)")
                }
                let thread = String(decoding: target.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
                return "/proc/\(thread)/ns/net"
            }
        }
    }

    /// Sets one of the kernel's values for this network: `set("net/ipv4/ip_forward", "1")`.
    public func set(_ name: String, _ value: String) throws {
        try perform {
            guard let file = fopen("/proc/sys/\(name)", "we") else {
                throw Failure(description: "\(name): errno \(errno)")
            }
            let isWritten = fputs(value, file) >= 0
            guard fclose(file) == 0, isWritten else { throw Failure(description: "\(name) = \(value): errno \(errno)") }
        }
    }

    /// Runs a program in this network and waits for it.
    public func run(_ program: String, _ arguments: String...) throws {
        try run(program, arguments)
    }

    public func run(_ program: String, _ arguments: [String]) throws {
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
