import Console
import Glibc
import PRSNLCore

/// What the journal has of the unit at the level of errors, of the last day.
enum JournalErrors {
    private static let patience: Duration = .seconds(10)
    /// How many are read, the newest first.
    private static let most = 1_000

    static func read(_ unit: ServiceCheck.Unit) -> ServiceCheck.Journal {
        guard case .known(let name, let isUser, let properties) = unit, properties["LoadState"] != "not-found" else {
            return .notKnown("there is no unit whose log could be read")
        }
        if !isUser, geteuid() != 0, let group = closedTo() {
            return .notKnown("this user may not read the journal\(group)")
        }
        let arguments =
            (isUser ? ["--user"] : []) + [
                "--unit=\(name)", "--priority=err", "--since=-1d", "--output=json",
                "--output-fields=MESSAGE,SYSLOG_IDENTIFIER",
                "--lines=\(most)", "--no-pager",
            ]
        do throws(ToolRun.Failure) {
            let run = try ToolRun("/usr/bin/journalctl", arguments, within: patience)
            // It hints there at what this user may not read, with an exit code of 0.
            if run.status != 0 || run.complaint != nil {
                return .notKnown("journalctl: \(run.complaint ?? "it failed")")
            }
            return .read(messages(run.output))
        } catch {
            return .notKnown(error.reason)
        }
    }

    /// journalctl shows a user who may not read the system's journal an empty one, perhaps with a hint.
    ///
    /// - Returns: `nil` where it can be read, or where there is none; else who may.
    private static func closedTo() -> String? {
        var isThere = false
        for folder in ["/var/log/journal", "/run/log/journal"] {
            var pattern = glob_t()
            defer { globfree(&pattern) }
            guard access(folder, F_OK) == 0 else { continue }
            isThere = true
            guard glob(folder + "/*/system.journal", 0, nil, &pattern) == 0, let paths = pattern.gl_pathv else {
                continue
            }
            for index in 0..<Int(pattern.gl_pathc) {
                if let path = paths[index], access(path, R_OK) == 0 { return nil }
            }
        }
        return isThere ? "; members of the groups systemd-journal and adm may" : nil
    }

    private static func messages(_ output: [UInt8]) -> [ServiceCheck.Message] {
        output.split(separator: UInt8(ascii: "\n")).compactMap { line in
            guard line.first == UInt8(ascii: "{") else { return nil }
            do {
                let entry = try JSONOutput.decode(Entry.self, from: Array(line))
                return ServiceCheck.Message(
                    at: Timestamp(microseconds: entry.time), text: entry.text, isSystemd: entry.identifier == "systemd")
            } catch {
                // A line that was cut off, or a field in a form that is not expected: it still counts as an error.
                return ServiceCheck.Message(at: TimeSource.system.now(), text: "(a message that cannot be read)")
            }
        }
    }

    /// systemd.journal-fields(7). A text that is not UTF-8 comes as an array of its bytes.
    private struct Entry: Decodable {
        let time: Int64
        let text: String
        let identifier: String?

        enum CodingKeys: String, CodingKey {
            case time = "__REALTIME_TIMESTAMP"
            case message = "MESSAGE"
            case identifier = "SYSLOG_IDENTIFIER"
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            identifier = try container.decodeIfPresent(String.self, forKey: .identifier)
            time = Int64(try container.decode(String.self, forKey: .time)) ?? 0
            do {
                text = try container.decode(String.self, forKey: .message)
            } catch {
                text = String(decoding: try container.decode([UInt8].self, forKey: .message), as: UTF8.self)
            }
        }
    }
}
