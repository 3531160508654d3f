/// The daemon that a command is about, as systemd and prsnlctl know it. Errors and reports name the commands of the machine's
/// own daemon, because they do not know which one was meant; where they are written out, `fit` makes them those of this one.
package struct ServiceUnit: Sendable, Equatable {
    package enum Kind: Sendable, Equatable {
        /// A unit of the machine's: `prsnld`, or `prsnld@NAME`.
        case system(String)
        /// `prsnld` of the person's own systemd.
        case user
        /// Started manually: systemd does not run, or has no unit for it. The path of its configuration; `nil` where that is
        /// found without being named.
        case manual(String?)
    }

    /// How the person who reads a command becomes root. As they are written, commands say `sudo`.
    package enum RootAccess: Sendable, Equatable { case sudo, isRoot, su }

    package var kind: Kind
    /// Options of prsnlctl that lead to this daemon: `--instance work`. Empty where it finds the daemon without them.
    package var options: [String]
    package var rootAccess: RootAccess

    package init(_ kind: Kind = .system("prsnld"), options: [String] = [], rootAccess: RootAccess = .sudo) {
        self.kind = kind
        self.options = options
        self.rootAccess = rootAccess
    }

    /// The unit that systemd may hand a credential to; `nil` where the command is about a file of its own choosing.
    package var nameForCredentials: String? {
        guard case .system(let name) = kind, !options.contains("--database") else { return nil }
        return name
    }

    /// `work` for `prsnld@work`.
    private var instance: String? {
        guard case .system(let name) = kind, name.hasPrefix("prsnld@") else { return nil }
        return String(name.dropFirst("prsnld@".count))
    }

    /// What `prsnld` needs on its command line to be this one.
    private var configuration: [String] {
        if let instance { return ["--config", "/etc/prsnld/\(instance).conf"] }
        if case .manual(let path?) = kind { return ["--config", path] }
        // As it was given.
        return options.firstIndex(of: "--config").map { Array(options[$0...].prefix(2)) } ?? []
    }

    /// `prsnld` in a terminal. It has no option for its database, which the environment can name.
    private var manualStart: String {
        let database = options.firstIndex(of: "--database").map { options[$0...].dropFirst().first ?? "" }
        return (database.map { "PRSNL_DATABASE=\(ShellText.word($0)) " } ?? "")
            + ShellText.words(["prsnld"] + configuration)
    }

    /// A command for this daemon; `nil` where there is none that would do the same for it. Others stay as they are, those
    /// that say already which daemon they mean among them.
    package func fit(_ command: NextCommand) -> NextCommand? { fit(line: command.line).map(NextCommand.init(line:)) }

    /// A sentence with the commands of this daemon. One that it has none for stays, but that which stops it, restarts it or
    /// shows its log.
    package func fit(_ advice: Advice) -> Advice {
        var fitted: Advice = ""
        for (text, command) in zip(advice.texts, advice.commands) {
            let own = fit(command)
            let words: Advice? =
                switch command.line {
                case "systemctl restart prsnld", "systemctl reload prsnld": "restart the daemon"
                case "sudo systemctl stop prsnld": "stop the daemon"
                case let line where line.hasPrefix("journalctl"): "its log"
                default: nil
                }
            fitted = fitted + "\(text)" + (own.map { "\($0)" } ?? words ?? "\(command)")
        }
        fitted = fitted + "\(advice.texts[advice.commands.count])"
        // Without systemd both ways to start it are one.
        if fitted.commands.count == 2, fitted.commands[0] == fitted.commands[1] {
            fitted.commands.removeLast()
            fitted.texts.remove(at: 1)
        }
        return fitted
    }

    private func fit(line command: String) -> String? {
        // Of a pipeline, each of its commands.
        let parts = command.split(separator: " | ", omittingEmptySubsequences: false)
        guard parts.count == 1 else {
            let fitted = parts.compactMap { fit(line: String($0)) }
            return fitted.count == parts.count ? fitted.joined(separator: " | ") : nil
        }
        return ofDaemon(command).map(asRoot)
    }

    /// What `sudo` does for the person who reads it. As root, prsnlctl becomes the owner of the copy without `-u USER`.
    private func asRoot(_ line: String) -> String {
        guard rootAccess != .sudo, line.hasPrefix("sudo ") else { return line }
        var words = line.split(separator: " ", omittingEmptySubsequences: false).dropFirst()
        if words.first == "-u" { words = words.dropFirst(2) }
        let command = words.joined(separator: " ")
        return rootAccess == .isRoot ? command : "su -c \(ShellText.word(command))"
    }

    private func ofDaemon(_ command: String) -> String? {
        var words = command.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        let isRoot = words.first == "sudo"
        if isRoot { words.removeFirst() }
        switch words.first {
        case "systemctl": return fit(systemctl: words, isRoot: isRoot, command)
        case "journalctl" where words.starts(with: ["journalctl", "-u", "prsnld"]):
            switch kind {
            case .system(let name): return (["journalctl", "-u", name] + words.dropFirst(3)).joined(separator: " ")
            case .user: return (["journalctl", "--user"] + words.dropFirst()).joined(separator: " ")
            case .manual: return nil
            }
        case "prsnlctl":
            let isFitted = words.contains { ["--config", "--instance", "--socket", "--database"].contains($0) }
            // The person's own is nothing to root, who has another home directory.
            let needsRoot = isRoot && (kind != .user || isFitted)
            let more = isFitted || options.isEmpty ? [] : [ShellText.words(options)]
            return ((needsRoot ? ["sudo"] : []) + ["prsnlctl"] + more + words.dropFirst()).joined(separator: " ")
        case "prsnld" where words.contains { ["--config", "--instance", "--service"].contains($0) }: return command
        case "prsnld" where instance != nil && words.contains("--check-config"):
            return ((isRoot ? ["sudo"] : []) + ["prsnld", "--instance", instance ?? ""] + words.dropFirst())
                .joined(separator: " ")
        // Started manually, it would keep another copy, below the home directory of the user who types it.
        case "prsnld" where instance != nil && words.contains("--once"): return fit(line: "systemctl start prsnld")
        case "prsnld":
            return ((isRoot ? ["sudo"] : []) + [manualStart] + words.dropFirst()).joined(separator: " ")
        default: return command
        }
    }

    private func fit(systemctl words: [String], isRoot: Bool, _ command: String) -> String? {
        guard words.count == 3, words[2] == "prsnld" else { return command }
        switch kind {
        case .system(let name): return (isRoot ? "sudo " : "") + "systemctl \(words[1]) \(name)"
        case .user: return "systemctl --user \(words[1]) prsnld"
        case .manual: return words[1] == "start" ? manualStart : nil
        }
    }
}
