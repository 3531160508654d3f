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
        var place: String { "127.0.0.1:\(port)" }
        var url: String { "https://\(place)" }
    }

    /// When a certificate is valid, in the form of openssl-ca(1).
    private struct Validity {
        var from = ""
        var to = ""
        static let now = Validity()
        static let past = Validity(from: "20200101000000Z", to: "20210101000000Z")
        static let future = Validity(from: "20480101000000Z", to: "20490101000000Z")
    }

    private func run(_ arguments: [String], in folder: TemporaryDirectory) async throws {
        let ended = try await ChildProcess.run(Self.openssl, arguments, directory: folder.path)
        try #require(ended.exit == .status(0), "\(arguments): \(ended.stderr)")
    }

    /// Makes `certificate.pem` and `key.pem`.
    ///
    /// - Parameters:
    ///   - name: the host's, as in subjectAltName.
    ///   - isSelfSigned: else an authority signs it, whose certificate is not given out.
    private func makeCertificate(
        _ name: String, _ validity: Validity, isSelfSigned: Bool, in folder: TemporaryDirectory
    ) async throws {
        let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        try await run(
            ["req", "-new"] + key + ["-subj", "/CN=\(name.contains(":") ? "127.0.0.1" : name)"]
                + ["-keyout", "key.pem", "-out", "request.pem"], in: folder)
        try await run(
            ["req", "-x509"] + key + ["-subj", "/CN=authority", "-keyout", "ca-key.pem", "-out", "ca.pem"], in: folder)
        try TestFile.write("", to: folder.file("index"))
        try TestFile.write("01\n", to: folder.file("serial"))
        try TestFile.write(
            """
            [ca]
            default_ca = one
            [one]
            database = index
            serial = serial
            new_certs_dir = .
            default_md = sha256
            default_days = 1
            policy = any
            [any]
            commonName = supplied
            [names]
            subjectAltName = \(name)

            """, to: folder.file("ca.conf"))
        let signer =
            isSelfSigned ? ["-selfsign", "-keyfile", "key.pem"] : ["-keyfile", "ca-key.pem", "-cert", "ca.pem"]
        let times = validity.from.isEmpty ? [] : ["-startdate", validity.from, "-enddate", validity.to]
        try await run(
            ["ca", "-batch", "-notext", "-config", "ca.conf", "-extensions", "names", "-in", "request.pem"]
                + ["-out", "certificate.pem"] + signer + times, in: folder)
    }

    private func serve(
        name: String = "IP:127.0.0.1", _ validity: Validity = .now, isSelfSigned: Bool = true, options: [String] = []
    ) async throws -> Server {
        let folder = TemporaryDirectory("prsnl-tls")
        try await makeCertificate(name, validity, isSelfSigned: isSelfSigned, in: folder)
        try #require(mkdir(folder.file("api"), 0o700) == 0 && mkdir(folder.file("api/auth"), 0o700) == 0)
        try TestFile.write(#"{"id":"a"}"#, to: folder.file("api/auth/me"))
        try TestFile.write(#"{"status":"healthy"}"#, to: folder.file("api/health"))
        let process = try ChildProcess(
            Self.openssl,
            [
                "s_server", "-accept", "127.0.0.1:0", "-cert", folder.file("certificate.pem"), "-key",
                folder.file("key.pem"), "-WWW",
            ] + options, directory: folder.path)
        let line = try await process.waitForLine(containing: "ACCEPT 127.0.0.1:")
        return Server(folder: folder, process: process, port: String(line.split(separator: ":").last ?? ""))
    }

    /// Asks for the account, over a connection that must not come about.
    private func refusal(_ url: String, caFile: String?) async throws -> APIError {
        let error = try #require(await error(url, caFile: caFile))
        #expect(error.kind == .networkError(.tlsFailed))
        #expect(!error.mayHaveReachedServer)
        #expect(error.userFacing.heading == "Connection error")
        return error
    }

    private func error(_ url: String, caFile: String?) async throws -> APIError? {
        let test = try TestClient(url, .apiKey("fake-key")) { $0.caFile = caFile }
        return await apiError { () async throws(APIError) in try await test.client.session().account() }
    }

    @Test(.enabled(if: TLSTests.isToBeRun, "needs openssl(1)"))
    func aSelfSignedCertificateIsNamed() async throws {
        let server = try await serve()
        let error = try await refusal(server.url, caFile: nil)
        #expect(
            error.userFacing.message
                == "Network error: the certificate of \(server.place) is self-signed, or from an unknown issuer.")
        #expect(error.userFacing.recoverySuggestion.description.contains("ca_file"))
        #expect(error.userFacing.cause?.contains("self-signed") == true)
        #expect(!server.process.stdout.contains("fake-key"))
    }

    @Test(.enabled(if: TLSTests.isToBeRun, "needs openssl(1)"))
    func anUnknownAuthorityIsNamed() async throws {
        let server = try await serve(isSelfSigned: false)
        // With the authority's own certificate in the chain, and without.
        let chained = try await serve(isSelfSigned: false, options: ["-cert_chain", server.folder.file("ca.pem")])
        for server in [server, chained] {
            let error = try await refusal(server.url, caFile: nil)
            #expect(
                error.userFacing.message
                    == "Network error: the certificate of \(server.place) is self-signed, or from an unknown issuer.")
        }
        #expect(try await error(server.url, caFile: server.folder.file("ca.pem")) == nil)
    }

    @Test(.enabled(if: TLSTests.isToBeRun, "needs openssl(1)"))
    func anExpiredCertificateIsNamed() async throws {
        let server = try await serve(.past)
        let error = try await refusal(server.url, caFile: server.certificate)
        #expect(error.userFacing.message == "Network error: the certificate of \(server.place) has expired.")
        #expect(error.userFacing.recoverySuggestion.description.contains("clock"))
    }

    @Test(.enabled(if: TLSTests.isToBeRun, "needs openssl(1)"))
    func aCertificateThatIsNotValidYetIsNamed() async throws {
        let server = try await serve(.future)
        let error = try await refusal(server.url, caFile: server.certificate)
        let message = error.userFacing.message
        #expect(message.hasPrefix("Network error: no trusted TLS connection to \(server.place): "), "\(message)")
        #expect(message.contains("not yet valid"), "\(message)")
        #expect(error.userFacing.recoverySuggestion.description.contains("clock"))
    }

    @Test(.enabled(if: TLSTests.isToBeRun, "needs openssl(1)"), arguments: ["DNS:prsnl.example.org", "IP:192.0.2.7"])
    func aCertificateOfAnotherNameIsNamed(name: String) async throws {
        let server = try await serve(name: name)
        let error = try await refusal(server.url, caFile: server.certificate)
        #expect(
            error.userFacing.message
                == "Network error: the certificate of \(server.place) is for another name than 127.0.0.1.")
    }

    @Test(.enabled(if: TLSTests.isToBeRun, "needs openssl(1)"))
    func aServerThatWantsMoreThanTheClientHasIsNamed() async throws {
        // It wants a certificate of the client's.
        let server = try await serve(options: ["-tls1_2", "-Verify", "1", "-verify_return_error"])
        let error = try await refusal(server.url, caFile: server.certificate)
        let message = error.userFacing.message
        #expect(message.hasPrefix("Network error: no TLS connection to \(server.place): "), "\(message)")
        #expect(message.contains("alert"), "\(message)")
    }

    @Test(.enabled(if: TLSTests.isToBeRun, "needs openssl(1)"))
    func aCertificateOfTheGivenFileIsTrusted() async throws {
        let server = try await serve(name: "IP:127.0.0.1")
        let test = try TestClient("https://127.0.0.1:\(server.port)", .apiKey("fake-key")) {
            $0.caFile = server.certificate
        }
        #expect(try await test.client.session().account().id == "a")
    }

    /// Nothing else is trusted in its place.
    @Test(.enabled(if: TLSTests.isToBeRun, "needs openssl(1)"), arguments: ["missing.pem", ".", "api/health"])
    func aFileWithoutCertificatesIsNamed(name: String) async throws {
        let server = try await serve()
        let path = server.folder.file(name)
        let message = try await refusal(server.url, caFile: path).userFacing.message
        #expect(message.contains(path), "\(message)")
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
        // libcurl 8.14 tells none where TLS fails.
        #expect(refused.address == "127.0.0.1" || refused.address == nil)
    }

    @Test func aServerThatDoesNotSpeakTLSIsNamed() async throws {
        let server = try ScriptedServer(always: .raw("HTTP/1.1 400 Bad Request\r\n\r\n"))
        let url = server.url.replacing("http:", with: "https:")
        let error = try await refusal(url, caFile: nil)
        let message = error.userFacing.message
        #expect(message.hasPrefix("Network error: no TLS connection to \(url.dropFirst(8)): "), "\(message)")
        #expect(message.contains("wrong version number"), "\(message)")
        #expect(error.userFacing.recoverySuggestion.description.contains("http://"))
    }

    @Test func aServerThatHangsUpDuringTLSIsNamed() async throws {
        let server = try ScriptedServer(always: .closed)
        let url = server.url.replacing("http:", with: "https:")
        let error = try await refusal(url, caFile: nil)
        let message = error.userFacing.message
        #expect(message.hasPrefix("Network error: no TLS connection to \(url.dropFirst(8)): "), "\(message)")
    }

    @Test func aServerThatIsSilentDuringTLSIsNamed() async throws {
        let server = try ScriptedServer(always: .silent)
        let url = server.url.replacing("http:", with: "https:")
        let test = try TestClient(url) { $0.connectTimeout = .milliseconds(100) }
        let error = try #require(
            await apiError { () async throws(APIError) in try await test.client.session().account() })
        #expect(error.kind == .networkError(.timedOut))
        #expect(error.userFacing.message == "Network error: no connection to \(url.dropFirst(8)) within 100 ms.")
    }

    @Test(.enabled(if: TLSTests.isToBeRun, "needs openssl(1)"))
    func aCAFileThatIsNotThereIsNamed() async throws {
        let server = try await serve()
        let error = try await refusal(server.url, caFile: "/nonexistent/ca.pem")
        #expect(error.userFacing.message.contains("/nonexistent/ca.pem"), "\(error.userFacing.message)")
        #expect(error.userFacing.recoverySuggestion.description.contains("CA certificates"))
    }

    // MARK: Through a proxy

    @Test func behindAProxyItIsTheServerWhoseTLSFails() async throws {
        // It opens the tunnel, and the other end of it hangs up.
        let proxy = try ScriptedServer(always: .raw("HTTP/1.1 200 OK\r\n\r\n"))
        let test = try TestClient("https://prsnl.invalid") { $0.proxy = proxy.url }
        let error = try #require(
            await apiError { () async throws(APIError) in try await test.client.session().account() })
        #expect(error.kind == .networkError(.tlsFailed), "\(error)")
        let message = error.userFacing.message
        #expect(message.hasPrefix("Network error: no TLS connection to prsnl.invalid:443: "), "\(message)")
    }

    @Test(.enabled(if: TLSTests.isToBeRun, "needs openssl(1)"))
    func aProxyWhoseCertificateIsNotTrustedIsNamed() async throws {
        let proxy = try await serve()
        let test = try TestClient("https://prsnl.invalid") { $0.proxy = proxy.url }
        let error = try #require(
            await apiError { () async throws(APIError) in try await test.client.session().account() })
        #expect(error.kind == .networkError(.tlsFailed), "\(error)")
        #expect(
            error.userFacing.message
                == "Network error: the certificate of the proxy \(proxy.place) is self-signed, or from an unknown issuer."
        )
        // Also towards a server without TLS.
        let plain = try TestClient("http://prsnl.invalid") {
            $0.proxy = proxy.url
            $0.allowInsecureHTTP = true
        }
        let other = await apiError { () async throws(APIError) in try await plain.client.session().account() }
        #expect(other?.userFacing.message == error.userFacing.message)
    }
}
