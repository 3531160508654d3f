import Console
import Control
import Glibc
import PRSNLCore
import Requests

/// One HTTP request on stdin, answered on stdout: a connection that systemd has taken (systemd.socket(5), Accept=yes).
enum MetricsConnection {
    /// Bytes; a scraper sends some hundred.
    private static let longestRequest = 8 << 10
    private static let patience: Duration = .seconds(5)

    /// Clients that disconnect or send nothing get no response.
    static func serve(_ metrics: () throws(UserFacingError) -> String) throws(UserFacingError) {
        let end = ContinuousClock.now + patience
        var request: [UInt8] = []
        while request.count <= longestRequest, !request.contains(Array("\r\n\r\n".utf8)) {
            guard let bytes = read(until: end) else { return }
            request += bytes
        }
        // What was sent and not read would make the kernel reset the connection, and the answer would be lost.
        defer {
            shutdown(STDOUT_FILENO, Int32(SHUT_WR))
            while read(until: end) != nil {}
        }
        let line = String(decoding: request.prefix { $0 != UInt8(ascii: "\r") }, as: UTF8.self)
        let words = line.split(separator: " ", omittingEmptySubsequences: false)
        if request.count > longestRequest {
            answer("431 Request Header Fields Too Large")
        } else if words.count != 3 || !words[2].hasPrefix("HTTP/1.") {
            answer("400 Bad Request")
        } else if words[1].prefix(while: { $0 != "?" }) != "/metrics" {
            answer("404 Not Found")
        } else if !["GET", "HEAD"].contains(words[0]) {
            answer("405 Method Not Allowed")
        } else {
            do throws(UserFacingError) {
                answer("200 OK", try metrics(), hasBody: words[0] == "GET")
            } catch {
                answer("503 Service Unavailable")
                throw error
            }
        }
    }

    /// - Returns: `nil` at the end of the connection, or of our patience.
    private static func read(until end: ContinuousClock.Instant) -> ArraySlice<UInt8>? {
        let left = ContinuousClock.now.duration(to: end).wholeMilliseconds
        // Also where more has come.
        guard left > 0, Interruption.wait(for: STDIN_FILENO, or: nil, atMost: Int32(left)) == true else { return nil }
        var buffer = [UInt8](repeating: 0, count: 4_096)
        let count = Glibc.read(STDIN_FILENO, &buffer, buffer.count)
        return count > 0 ? buffer[..<count] : nil
    }

    private static func answer(_ status: String, _ text: String? = nil, hasBody: Bool = true) {
        let text = text ?? status + "\n"
        StandardStream.output.write(
            """
            HTTP/1.1 \(status)\r
            Content-Type: text/plain; version=0.0.4; charset=utf-8\r
            Content-Length: \(text.utf8.count)\r
            Allow: GET, HEAD\r
            Connection: close\r
            \r
            \(hasBody ? text : "")
            """)
    }
}
