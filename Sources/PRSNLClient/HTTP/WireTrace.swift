import CCurl
import Glibc
import PRSNLCore

/// What goes over the wire, for people who debug: in debug builds only, only with PRSNL_WIRE_TRACE=1, without bodies and
/// credentials. A line for each request is in the log of every build, at level debug (`PRSNLClient.send`).
enum WireTrace {
    #if DEBUG
        /// The receiver of trace lines, where the environment asks for them.
        static func sink(_ log: @escaping LogHandler) -> (@Sendable (String) -> Void)? {
            guard let value = getenv("PRSNL_WIRE_TRACE"), String(cString: value) == "1" else { return nil }
            return { log(.debug, .http, "\($0)") }
        }

        static func install(on easy: UnsafeMutableRawPointer, _ sink: (@Sendable (String) -> Void)?) {
            guard sink != nil else { return }
            _ = prsnl_setopt_debug(easy) { easy, type, pointer, count, _ in
                guard let pointer else { return 0 }
                let bytes = UnsafeRawBufferPointer(start: pointer, count: count)
                Transfer.of(easy)?.trace(WireTrace.lines(type, bytes))
                return 0
            }
            _ = prsnl_setopt_long(easy, CURLOPT_VERBOSE, 1)
        }

        static func lines(_ type: curl_infotype, _ bytes: UnsafeRawBufferPointer) -> [String] {
            let mark: String
            switch type {
            case CURLINFO_TEXT: mark = "*"
            case CURLINFO_HEADER_OUT: mark = ">"
            case CURLINFO_HEADER_IN:
                return String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline).map {
                    "< \(received(String($0)))"
                }
            case CURLINFO_DATA_OUT: return ["> (\(bytes.count) bytes of body)"]
            case CURLINFO_DATA_IN: return ["< (\(bytes.count) bytes of body)"]
            default: return []
            }
            return String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline).map {
                "\(mark) \(redacted(String($0)))"
            }
        }
    #else
        static func sink(_ log: LogHandler) -> (@Sendable (String) -> Void)? { nil }
        static func install(on easy: UnsafeMutableRawPointer, _ sink: (@Sendable (String) -> Void)?) {}
    #endif

    /// Headers of an answer whose values are shown.
    private static let harmless: Set<String> = [
        "age", "connection", "content-encoding", "content-length", "content-type", "date", "retry-after",
        "transfer-encoding", "vary",
    ]

    /// A line of an answer's head. A server may repeat the credentials wherever it likes, so only what says little is shown
    /// whole; of the status line, not the phrase.
    static func received(_ line: String) -> String {
        guard let colon = line.firstIndex(of: ":") else {
            return line.split(separator: " ").prefix(2).joined(separator: " ")
        }
        return harmless.contains(line[..<colon].lowercased()) ? line : "\(line[..<colon]): …"
    }

    /// A header line without its secret. libcurl also prints headers of HTTP/2 as `h2h3 [x-api-key: …]`, so the name is
    /// looked for anywhere.
    static func redacted(_ line: String) -> String {
        let lowered = line.lowercased()
        for name in ["authorization", "x-api-key", "cookie", "proxy-auth"] {
            if let range = lowered.firstRange(of: name) {
                return String(line.prefix(lowered.distance(from: lowered.startIndex, to: range.upperBound))) + ": …"
            }
        }
        return line
    }
}
