import CLinux
import Glibc
import PRSNLCore
import Synchronization
import TestSupport
import Testing

@testable import PRSNLClient

/// A name server that never answers: cancelling must not wait for it.
struct DeadResolverTests {
    /// A name server on a loopback address of its own that only counts its queries.
    private final class SilentNameServer: Sendable {
        static let address: UInt32 = 0x7F00_004D  // 127.0.0.77
        let socket: Int32

        init?() {
            socket = Glibc.socket(AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            do {
                try LoopbackSocket.bind(socket, address: Self.address, port: 53)
            } catch {
                return nil  // not root, or the port is taken
            }
        }

        deinit { close(socket) }

        /// Blocks until a query comes.
        func waitForQuery() {
            var query = [UInt8](repeating: 0, count: 512)
            while recv(socket, &query, query.count, 0) < 0 && errno == EINTR {}
        }

        /// Takes the queries that have come.
        func drain() -> Int {
            var query = [UInt8](repeating: 0, count: 512)
            var count = 0
            while recv(socket, &query, query.count, Int32(MSG_DONTWAIT)) >= 0 { count += 1 }
            return count
        }
    }

    /// A client, and its first call.
    private typealias Begun = (client: PRSNLClient, call: Task<APIError?, Never>)

    /// Asks for the first time from a thread with a mount namespace of its own, in which resolv.conf names the silent
    /// server; the client's thread and libcurl's resolver threads are born into it. `nil` without the privilege.
    private func callWithDeadResolver(_ resolvConf: String) throws -> Begun? {
        final class Work: @unchecked Sendable {
            let path: String
            var begun: Begun?
            init(_ path: String) { self.path = path }
        }
        let work = Work(resolvConf)
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { pointer in
                let work = Unmanaged<Work>.fromOpaque(pointer!).takeRetainedValue()
                guard NamespaceOfThread.enter(resolvConf: work.path) else { return nil }
                do {
                    let client = try PRSNLClient(
                        configuration: ClientConfiguration(serverURL: "https://prsnl.example.org", credentials: .none))
                    let call = Task(executorPreference: BeginningHere()) {
                        await apiError { () async throws(APIError) in try await client.session().account() }
                    }
                    work.begun = (client, call)
                } catch {
                    Issue.record(error)
                }
                return nil
            }, Unmanaged.passRetained(work).toOpaque())
        try #require(code == 0)
        pthread_join(thread, nil)
        return work.begun
    }

    @Test(.enabled(if: geteuid() == 0 || getenv("CI") != nil, "needs root, for a mount namespace"))
    func cancellingDoesNotWaitForTheResolver() async throws {
        guard let server = SilentNameServer() else {
            throw LoopbackSocket.Failure(operation: "bind the name server", code: errno)
        }
        let folder = TemporaryDirectory()
        // The second round of queries comes after five seconds: a cancel that waited for the resolver would see it.
        try TestFile.write(
            "nameserver 127.0.0.77\noptions timeout:5 attempts:4\n", to: folder.file("resolv.conf"), mode: 0o644)
        let (client, call) = try #require(try callWithDeadResolver(folder.file("resolv.conf")))
        server.waitForQuery()
        call.cancel()
        let error = await call.value
        #expect(error?.kind == .networkError(.cancelled))
        #expect(error?.mayHaveReachedServer == false)
        let queries = server.drain()
        client.shutdown()
        // Nor does ending the client wait.
        #expect(queries + server.drain() <= 1, "IPv4 and IPv6 are asked for at once; more means that it waited")
    }
}

/// Runs a task on the thread that makes it, as far as its first suspension, and then elsewhere.
private final class BeginningHere: TaskExecutor {
    private let hasBegun = Atomic(false)

    func enqueue(_ job: consuming ExecutorJob) {
        if hasBegun.exchange(true, ordering: .relaxed) {
            globalConcurrentExecutor.enqueue(job)
        } else {
            job.runSynchronously(on: asUnownedTaskExecutor())
        }
    }
}

/// unshare(2) and mount(2) for the calling thread only. Looked up by name: the headers hide them from Swift.
private enum NamespaceOfThread {
    private typealias Unshare = @convention(c) (Int32) -> Int32
    private typealias Mount =
        @convention(c) (
            UnsafePointer<CChar>?, UnsafePointer<CChar>?, UnsafePointer<CChar>?, UInt, UnsafeRawPointer?
        ) -> Int32
    private static let newMountNamespace: Int32 = 0x0002_0000  // CLONE_NEWNS
    private static let recursivePrivate: UInt = 0x4000 | 0x4_0000  // MS_REC | MS_PRIVATE
    private static let bindMount: UInt = 0x1000  // MS_BIND

    static func enter(resolvConf: String) -> Bool {
        guard let unshareSymbol = dlsym(nil, "unshare"), let mountSymbol = dlsym(nil, "mount") else { return false }
        let unshare = unsafeBitCast(unshareSymbol, to: Unshare.self)
        let mount = unsafeBitCast(mountSymbol, to: Mount.self)
        return unshare(newMountNamespace) == 0 && mount(nil, "/", nil, recursivePrivate, nil) == 0
            && mount(resolvConf, "/etc/resolv.conf", nil, bindMount, nil) == 0
    }
}
