import CLinux
import DevServer
import Glibc
import PRSNLCore

@main
enum Main {
    static func main() {
        do {
            let arguments = try Arguments(Array(CommandLine.arguments.dropFirst()))
            if arguments.asksForHelp {
                put(Arguments.help, on: STDOUT_FILENO)
                return
            }
            try arguments.dumps ? dump(arguments) : serve(arguments)
        } catch let error as Arguments.Invalid {
            fail("\(error.message)\nTry: prsnl-devserver --help", status: 2)
        } catch {
            fail("\(error)", status: 1)
        }
    }

    private static func makeItems(_ arguments: Arguments) -> [DevItem] {
        var items = DevItem.generate(count: arguments.items, seed: arguments.seed, tieGroup: arguments.ties)
        if arguments.others > 0 {
            for (index, account) in [DevAccount.other, .testUser].enumerated() {
                items += DevItem.generate(
                    count: arguments.others, seed: arguments.seed &+ UInt64(index) &+ 101, owner: account.id)
            }
        }
        return items
    }

    private static func dump(_ arguments: Arguments) throws {
        let server = try DevServer.start(arguments.configuration, items: makeItems(arguments))
        put(server.tabSeparatedItems(owner: arguments.configuration.accounts[0].id), on: STDOUT_FILENO)
    }

    private static func serve(_ arguments: Arguments) throws {
        // Blocked before any thread starts, so that only the wait below gets them.
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGTERM)
        sigaddset(&signals, SIGINT)
        pthread_sigmask(SIG_BLOCK, &signals, nil)

        var configuration = arguments.configuration
        if let lifetime = arguments.loginLifetime ?? arguments.tokenLifetime {
            configuration.tokenLifetime = .seconds(lifetime)
        }
        if arguments.logs { configuration.log = { request in logLine(request) } }
        let server = try DevServer.start(configuration, items: makeItems(arguments))
        server.prepareAnswers()
        if let file = arguments.tokenFile {
            let lifetime = Duration.seconds(arguments.tokenLifetime ?? 365 * 86_400)
            let account = configuration.accounts[0]
            if let token = readLine(of: file) {
                server.acceptToken(token, of: account, lifetime: lifetime)
            } else {
                try writeFile(server.issueToken(for: account, lifetime: lifetime) + "\n", to: file)
            }
        }
        if let file = arguments.apiKeyFile { try writeFile(configuration.accounts[0].apiKey + "\n", to: file) }
        put("listening on \(server.url)\n", on: STDOUT_FILENO)
        if let file = arguments.readyFile { try writeFile(server.url + "\n", to: file) }

        var signal: Int32 = 0
        sigwait(&signals, &signal)
        server.stop()
    }

    private static func logLine(_ request: LoggedRequest) {
        let query = request.query.isEmpty ? "" : "?\(request.query)"
        let fault = request.fault.map { " [\($0)]" } ?? ""
        let line =
            "\(request.method) \(request.path)\(query) -> \(request.status ?? 0) (\(request.authorization))\(fault)\n"
        put(line, on: STDERR_FILENO)
    }

    /// Unbuffered: the first line has to arrive at once on any kind of stdout.
    private static func put(_ text: String, on descriptor: Int32) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            if count < 0 { return }  // no one reads it any more
            bytes = bytes.dropFirst(count)
        }
    }

    /// The first line of a file. `nil` where there is none.
    private static func readLine(of path: String) -> String? {
        let file = prsnl_open(path, O_RDONLY | O_CLOEXEC, 0)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 4_096)
        let count = max(0, read(file, &bytes, bytes.count))
        let line = String(decoding: bytes[..<count].prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
        return line.isEmpty ? nil : line
    }

    /// Replaces a file in one step, readable by its owner only.
    private static func writeFile(_ text: String, to path: String) throws {
        let temporary = "\(path).new"
        let file = prsnl_open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw FileFailure(path: temporary) }
        let bytes = Array(text.utf8)
        let isWritten = write(file, bytes, bytes.count) == bytes.count
        guard close(file) == 0, isWritten, rename(temporary, path) == 0 else { throw FileFailure(path: path) }
    }

    private struct FileFailure: Error, CustomStringConvertible {
        let description: String

        init(path: String) {
            description = "cannot write \(path): \(String(cString: strerror(errno)))"
        }
    }

    private static func fail(_ message: String, status: Int32) -> Never {
        put("prsnl-devserver: \(message)\n", on: STDERR_FILENO)
        exit(status)
    }
}
