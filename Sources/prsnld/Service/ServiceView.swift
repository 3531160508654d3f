import CLinux
import Configuration
import Console
import Glibc
import PRSNLCore

/// One of the machine's units as the daemon in it sees the world: other paths, another user and another environment than
/// those of the person who asks with `--check-config`. What `systemctl edit` changed is not looked at.
struct ServiceView {
    private static let user = "prsnld"

    /// `nil` for `prsnld.service`.
    private let instance: String?
    /// `prsnld`, or `prsnld@NAME`.
    let unit: String

    /// - Returns: `nil` where no unit was named.
    /// - Throws: `usage`.
    init?(_ arguments: ParsedArguments) throws(UserFacingError) {
        instance = arguments.value("--instance")
        let given = ["--service", "--instance", "--config"].filter(arguments.has)
        guard given.contains("--service") || given.contains("--instance") else { return nil }
        guard given.count == 1 else {
            throw UserFacingError(.usage, "\(given[0]) and \(given[1]) both name the configuration; give one of them.")
        }
        if let instance { try DefaultPaths.checkInstance(instance) }
        unit = instance.map { "\(Self.user)@\($0)" } ?? Self.user
        guard arguments.has("--check-config") else {
            throw UserFacingError(
                .usage, "\(given[0]) belongs to --check-config: only systemd runs the daemon as \(unit).service.",
                recoverySuggestion: "To start it, run `systemctl start \(unit)`.",
                nextCommand: "systemctl start \(unit)")
        }
    }

    var configurationFile: String {
        instance.map(DefaultPaths.configurationFile(ofInstance:)) ?? DefaultPaths.systemConfiguration
    }

    /// What of systemd's environment the configuration depends on; nothing of the person's own.
    var environment: ProcessEnvironment {
        let (state, runtime) = DefaultPaths.directories(ofInstance: instance)
        return ProcessEnvironment(
            variables: ["STATE_DIRECTORY": state, "RUNTIME_DIRECTORY": runtime],
            homeDirectory: DefaultPaths.directories(ofInstance: nil).state)
    }

    /// Root becomes the user of the unit, for the rest of this process, so that what that user cannot read is found.
    ///
    /// - Returns: whether this process has the rights of that user now: a person who is neither that user nor root cannot
    ///   look at the credentials.
    /// - Throws: `config_invalid` where there is no such user.
    func becomeItsUser() throws(UserFacingError) -> Bool {
        guard let user = getpwnam(Self.user) else {
            throw UserFacingError(
                .configInvalid, "There is no user \(Self.user), as whom \(unit).service runs.",
                recoverySuggestion: "Install prsnld again, which makes the user.", nextCommand: "systemd-sysusers")
        }
        let (number, group) = (user.pointee.pw_uid, user.pointee.pw_gid)
        guard geteuid() == 0 else { return geteuid() == number }
        // The groups first: afterwards there is no right to.
        guard initgroups(Self.user, group) == 0, setgid(group) == 0, setuid(number) == 0 else {
            throw UserFacingError(.notOwner, "Root could not become \(Self.user): \(String(cString: strerror(errno))).")
        }
        MemoryUse.forbidInspection()  // a change of user makes a process dumpable again (prctl(2))
        return true
    }
}

/// Keeps the daemon's memory its own.
enum MemoryUse {
    /// Memory holds the key: no core dump, and no other process of the same user may read it (PR_SET_DUMPABLE in prctl(2)).
    /// Root still may. The kernel takes this back at every execve(2).
    static func forbidInspection() { _ = prsnl_set_not_dumpable() }
}
