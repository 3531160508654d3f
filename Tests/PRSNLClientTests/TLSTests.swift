import Glibc
import PRSNLCore
import TestSupport
import Testing

@testable import PRSNLClient

/// TLS against `openssl s_server`, whose `-WWW` answers a GET with the file of that name.
struct TLSTests {
    private static let openssl = "/usr/bin/openssl"
    /// In CI nothing is skipped: what is missing there fails.
    private static let isToBeRun = access(openssl, X_OK) == 0 || getenv("CI") != nil

    private struct Server {
        let folder: TemporaryDirectory
        let process: ChildProcess
        let port: String
        var certificate: String { folder.file("certificate.pem") }
    }

    /// - Parameter name: the host name in the certificate.
    private func serve(name: String) async throws -> Server {
        let folder = TemporaryDirectory("prsnl-tls")
        let made = try await ChildProcess.run(
            Self.openssl,
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1",
                "-subj", "/CN=\(name)", "-addext", "subjectAltName=\(name)", "-keyout", folder.file("key.pem"), "-out",
                folder.file("certificate.pem"),
            ])
        try #require(made.exit == .status(0), "\(made.stderr)")
        try #require(mkdir(folder.file("api"), 0o700) == 0 && mkdir(folder.file("api/auth"), 0o700) == 0)
        try TestFile.write(#"{"id":"a"}"#, to: folder.file("api/auth/me"))
        try TestFile.write(#"{"status":"healthy"}"#, to: folder.file("api/health"))
        let process = try ChildProcess(
            Self.openssl,
            [
                "s_server", "-accept", "127.0.0.1:0", "-cert", folder.file("certificate.pem"), "-key",
                folder.file("key.pem"), "-WWW",
            ], directory: folder.path)
        let line = try await process.waitForLine(containing: "ACCEPT 127.0.0.1:")
        return Server(folder: folder, process: process, port: String(line.split(separator: ":").last ?? ""))
    }

    private func error(_ url: String, caFile: String?) async throws -> APIError? {
        let test = try TestClient(url, .apiKey("fake-key")) { $0.caFile = caFile }
        return await apiError { () async throws(APIError) in try await test.client.account() }
    }

    @Test(.enabled(if: TLSTests.isToBeRun, "needs openssl(1)"))
    func aCertificateThatNobodyVouchesForIsRefused() async throws {
        let server = try await serve(name: "IP:127.0.0.1")
        let error = try #require(await error("https://127.0.0.1:\(server.port)", caFile: nil))
        #expect(error.kind == .networkError(.tlsFailed))
        #expect(!error.mayHaveReachedServer)
        #expect(error.userFacing.message == "Network error: no trusted TLS connection to the server.")
        #expect(error.userFacing.heading == "Connection error")
        #expect(error.userFacing.cause?.contains("self-signed") == true)
        #expect(!server.process.stdout.contains("fake-key"))
    }

    @Test(.enabled(if: TLSTests.isToBeRun, "needs openssl(1)"))
    func aCertificateOfTheGivenFileIsTrusted() async throws {
        let server = try await serve(name: "IP:127.0.0.1")
        let test = try TestClient("https://127.0.0.1:\(server.port)", .apiKey("fake-key")) {
            $0.caFile = server.certificate
        }
        #expect(try await test.client.account().id == "a")
    }

    @Test(.enabled(if: TLSTests.isToBeRun, "needs openssl(1)"))
    func aCertificateOfAnotherNameIsRefused() async throws {
        let server = try await serve(name: "DNS:prsnl.example.org")
        let error = try #require(
            await error("https://127.0.0.1:\(server.port)", caFile: server.certificate))
        #expect(error.kind == .networkError(.tlsFailed))
        #expect(!error.mayHaveReachedServer)
    }

    @Test(.enabled(if: TLSTests.isToBeRun, "needs openssl(1)"))
    func aPingTellsHowLongTLSTookAndWhetherItFailed() async throws {
        let server = try await serve(name: "IP:127.0.0.1")
        let url = "https://127.0.0.1:\(server.port)"
        let trusting = try TestClient(url) { $0.caFile = server.certificate }
        let ping = await trusting.client.ping()
        #expect(ping.error == nil, "\(ping)")
        #expect(Set(ping.phases.keys) == [.name, .connect, .tls, .firstByte])
        let refused = await (try TestClient(url)).client.ping()
        #expect(refused.error?.code == .tlsFailed)
        #expect(refused.failedPhase == .tls)
        #expect(refused.phases[.tls] == nil)
        #expect(refused.address == "127.0.0.1")
    }

    @Test func aServerWithoutTLSIsRefused() async throws {
        let server = try ScriptedServer(always: .raw("HTTP/1.1 400 Bad Request\r\n\r\n"))
        let error = try #require(
            await error(server.url.replacing("http:", with: "https:"), caFile: nil))
        #expect(!error.mayHaveReachedServer)
        #expect([.networkError(.tlsFailed), .networkError(.connectFailed)].contains(error.kind))
    }

    @Test(.enabled(if: TLSTests.isToBeRun, "needs openssl(1)"))
    func aCAFileThatIsNotThereIsATLSFailure() async throws {
        let server = try await serve(name: "IP:127.0.0.1")
        let error = try #require(
            await error("https://127.0.0.1:\(server.port)", caFile: "/nonexistent/ca.pem"))
        #expect(error.kind == .networkError(.tlsFailed))
        #expect(!error.mayHaveReachedServer)
    }
}
