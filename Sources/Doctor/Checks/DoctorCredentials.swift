import Console
package import PRSNLCore

/// The files that hold secrets. Nothing here ever holds one of them.
package struct DoctorCredentials: DoctorFacts, Equatable {
    package enum State: Sendable, Equatable {
        /// None is configured, or there is no file.
        case none
        /// This user may not look: as it should be for anybody but the daemon's user and root.
        case hidden
        case broken(UserFacingError)
        /// - Parameters:
        ///   - form: "an API key".
        ///   - expires: when it is worth nothing any more; `nil` where it does not say.
        case sound(form: String, expires: Timestamp?)
    }

    package struct File: Sendable, Equatable {
        package var path: String?
        package var state = State.none
        /// Whose it is, by name; `nil` where that is not known.
        package var owner: String?
        /// Handed over by systemd, which makes it readable for the daemon itself.
        package var isFromSystemd = false

        package init() {}
    }

    package var key = File()
    package var login = File()
    /// Who has to read them; `nil` where that is not known.
    package var daemonUser: String?
    package var now: Timestamp
    /// From which on a login is worth a word before it ends.
    static let notice: Duration = .seconds(86_400)

    package init(now: Timestamp) {
        self.now = now
    }

    package var findings: [DoctorReport.Finding] {
        let keyAdvice = "Nobody renews a token that was put there by hand: \(Self.removal(of: key)), and log in."
        var findings = [judge(key, "key_file", keyAdvice), judge(login, "login", Self.loginAdvice)].compactMap(
            \.self)
        if key.state == .none, login.state == .none {
            findings.append(
                .warning(
                    .credentials, "login",
                    "neither a login nor an API key: nothing is pulled, unless `anonymous = yes` is set",
                    next: "sudo prsnlctl login"))
        }
        if key.isThere, login.isThere {
            findings.append(
                .warning(
                    .credentials, "login", "there are both an API key and a login; the daemon uses the key",
                    "Either \(Self.removal(of: key)), or log out.", next: "prsnlctl logout"))
        }
        return findings
    }

    private static func removal(of key: File) -> String {
        key.isFromSystemd
            ? "remove the key from /etc/credstore and restart the daemon" : "take api_key_file out of the configuration"
    }

    private static let loginAdvice = "Log in again before it ends, or start the daemon, which renews it."

    private func judge(_ file: File, _ check: String, _ advice: String) -> DoctorReport.Finding? {
        let path = file.path ?? "?"
        switch file.state {
        case .none: return nil
        case .hidden:
            return .notChecked(.credentials, check, "\(path) may only be read by the daemon's user and root")
        case .broken(let error): return .failed(.credentials, check, error)
        case .sound(let form, let expires):
            if let daemonUser, let owner = file.owner, owner != daemonUser, !file.isFromSystemd {
                return .failed(
                    .credentials, check,
                    "\(path) belongs to \(owner): the daemon, which is \(daemonUser), cannot read it",
                    next: "sudo " + ShellText.command("chown", [daemonUser, path]))
            }
            guard let expires else { return .ok(.credentials, check, "\(form) in \(path)") }
            let left = expires.duration(since: now)
            if left <= .zero {
                return .failed(
                    .credentials, check, "\(form) in \(path) has expired (\(Figures.time(expires)))", "Log in again.",
                    next: "sudo prsnlctl login")
            }
            let text = "\(form) in \(path), for another \(Figures.duration(left))"
            return left > Self.notice
                ? .ok(.credentials, check, text)
                : .warning(.credentials, check, text, advice, next: "sudo prsnlctl login")
        }
    }
}

extension DoctorCredentials.File {
    fileprivate var isThere: Bool {
        switch state {
        // Nobody knows what is behind a door that is closed to this user.
        case .none, .hidden: false
        case .broken, .sound: true
        }
    }
}
