package import Console
import Glibc
import PRSNLCore
import Requests
package import Store

/// `prsnlctl verify`: whether the copy and the server are equal, whether the file is sound by itself, and a digest by which two
/// copies are compared.
enum VerifyCommand {
    static let command = Command(
        "verify", "Compare the copy with the server, and write nothing.",
        examples: [("--texts=week/7", "Compare a seventh of the texts, too: another one each week.")],
        options: [
            CommandOption(
                "--texts", .optional("PART"),
                "Texts, too: `all` (as without PART), `none`, `2/7` for the second of seven parts, or `week/7` for another one each week."
            ),
            CommandOption("--file", nil, "Look at the file alone, without the server and the daemon."),
            CommandOption(
                "--digest", nil, "Print a digest of the timeline: two machines compare it, without the server."),
        ]
    ) { context, arguments throws(UserFacingError) in
        if ["--texts", "--file", "--digest"].count(where: arguments.has) > 1 {
            throw arguments.failure("--texts, --file and --digest are three different questions")
        }
        if arguments.has("--file") {
            return try context.write(
                FileCheckReport(path: context.database, invariants: try context.reader().check()))
        }
        if arguments.has("--digest") {
            return try context.write(try context.reader().digest(at: TimeSource.system.now()))
        }
        var part = arguments.value("--texts") ?? (arguments.has("--texts") ? "all" : "none")
        guard let texts = VerifiedTexts(part, at: TimeSource.system.now()) else {
            throw arguments.failure(
                "--texts=\(SafeText.harmless(String(part.prefix(40)))) is not `none`, `all`, `week/7` or a part such as `2/7`"
            )
        }
        if part.hasPrefix("week") {
            part = "\(texts.number)/\(texts.count)"
            context.say("this week's texts are --texts=\(part)")
        }
        return try context.write(try context.answerShowingProgress(VerifyRequest(texts: part)))
    }
}

extension VerifyReport: Report {
    package var exitCode: ExitCode { outcome == .equal ? .fine : .needsAttention }

    package func text(_ style: TextStyle) -> String {
        let place = style.safe(server) + (account.map { " for \(style.safe($0))" } ?? "")
        let asked = "(asked from \(Formatting.clock(from)) to \(Formatting.time(to)))"
        let amount =
            Formatting.count(items, "item") + (texts > 0 ? " and \(Formatting.count(texts, "text"))" : "")
        let parts = [
            (onlyThere, "only there"), (onlyHere, "only here"), (differing, "different"),
            (skipped, "could not be compared"),
        ].filter { $0.0 > 0 }.map { "\(Formatting.count($0.0)) \($0.1)" }
        return lines {
            differences.map { Self.line($0, style) }
            if differences.count < counted {
                "… and \(Formatting.count(counted - differences.count)) more, which are counted and not listed."
            }
            if parts.isEmpty {
                "\(style.paint("Equal", .green)): \(amount), as on \(place) \(asked)."
            } else {
                "\(style.paint("Not equal", .yellow)) to \(place): \(parts.joined(separator: ", ")), of \(amount) \(asked)."
                // A pull reads the list, which has no texts.
                let texts = differences.filter { $0.sign == .differs && $0.fields == ["text"] }.compactMap(\.itemID)
                if onlyThere + onlyHere + differing > texts.count {
                    "\(style.command("prsnlctl sync --full")) brings the copy up to date."
                }
                texts.prefix(5).map {
                    "\(style.command("prsnlctl sync --wait --text \(OutboxWords.shortID($0))")) fetches that text again."
                }
            }
            if inMotion > 0 {
                "\(Formatting.count(inMotion, "item")) (`~`) could not be judged now: each line says why."
            }
        }
    }

    private static func line(_ difference: Difference, _ style: TextStyle) -> String {
        let id = difference.itemID.map { style.safe(OutboxWords.shortID($0)) } ?? "-"
        let what = [
            difference.fields.isEmpty ? nil : difference.fields.joined(separator: ", "),
            difference.title.map { style.safe($0) }, difference.reason.map { "(\(style.safe($0)))" },
            difference.isUndated
                ? difference.readAt.map { "(the copy last read it at \(Formatting.clock($0)))" } : nil,
        ].compactMap(\.self).joined(separator: "  ")
        return "\(difference.sign.rawValue) \(id)  \(what)"
    }
}

/// The invariants of the file: the JSON of `prsnlctl verify --file --json`.
package struct FileCheckReport: Report {
    package var schemaVersion = 1
    package var path: String
    package var invariants: [Invariant]
    package var exitCode: ExitCode { invariants.allSatisfy(\.holds) ? .fine : .needsAttention }

    private enum CodingKeys: CodingKey { case schemaVersion, path, invariants }

    package init(path: String, invariants: [Invariant]) { (self.path, self.invariants) = (path, invariants) }

    package func text(_ style: TextStyle) -> String {
        invariants.map { invariant in
            let mark = invariant.holds ? style.paint("ok", .green) : style.paint("wrong", .red)
            return "\(mark)\(invariant.holds ? "   " : "")  \(invariant.rule).\n"
                + invariant.findings.map { "         \(style.safe($0))\n" }.joined()
        }.joined()
    }
}

extension TimelineDigest: Report {
    package func text(_ style: TextStyle) -> String {
        "\(digest)  \(Formatting.count(items, "item"))"
            + (editsAsOf.map { ", edits and deletions as of \(Formatting.time($0))" } ?? "") + "\n"
    }
}
