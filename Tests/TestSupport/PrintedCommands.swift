/// The commands that a text tells a person to type.
package enum PrintedCommands {
    package static let programs = [
        "prsnlctl", "prsnld", "sudo", "su", "systemctl", "journalctl", "usermod", "chmod", "chown", "curl",
        "find",
        "loginctl", "sqlite3", "timedatectl", "sysctl", "ulimit", "mkdir", "locale", "install", "make", "git",
    ]

    /// What stands between backticks, and behind `next:`. A line with a backtick that is not closed on it breaks a command.
    package static func found(in text: String) -> (commands: [String], broken: [String]) {
        var found: (commands: [String], broken: [String]) = ([], [])
        for line in text.split(separator: "\n").map(String.init) {
            let pieces = line.split(separator: "`", omittingEmptySubsequences: false)
            if pieces.count % 2 == 0 { found.broken.append(line) }
            found.commands += pieces.enumerated().filter { $0.offset % 2 == 1 }.map { String($0.element) }
            if let next = line.firstRange(of: "next: ") { found.commands.append(String(line[next.upperBound...])) }
        }
        found.commands = found.commands.filter(isCommand)
        return found
    }

    /// Not a name, such as `queue drop` or `api_key_file`.
    package static func isCommand(_ text: String) -> Bool {
        text.split(separator: " ").first.map { programs.contains(String($0)) } ?? false
    }

    /// The words of each command in a line, as a real shell hands them on; `nil` for a line that it does not read. Nothing of
    /// them is run.
    package static func words(of lines: [String]) async throws -> [[[String]]?] {
        let functions = programs.map { "\($0)() { say \($0) \"$@\"; }" }.joined(separator: "\n")
        let script = """
            : >7
            exec 3>&1 1>/dev/null 2>/dev/null </dev/null
            PATH=
            end=$(printf '\\001')
            # In one write: both sides of a pipe say theirs at the same time.
            say() { said=; for word; do said=$said$word$end; done; printf '%s\\002' "$said" >&3; }
            \(functions)
            for line; do
                if (eval "$line
            :"); then printf '\\003' >&3; else printf '\\004\\003' >&3; fi
            done
            """
        let folder = TemporaryDirectory("printed-commands")
        let ended = try await ChildProcess.run("/bin/sh", ["-c", script, "sh"] + lines, directory: folder.path)
        return ended.stdout.split(separator: "\u{3}", omittingEmptySubsequences: false).dropLast().map { line in
            if line.contains("\u{4}") { return nil }
            return line.split(separator: "\u{2}").map { command in
                command.split(separator: "\u{1}", omittingEmptySubsequences: false).dropLast().map(String.init)
            }
        }
    }
}
