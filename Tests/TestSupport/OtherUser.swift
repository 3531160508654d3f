import CLinux
import Glibc

/// Somebody else on this machine, by numbers that nobody has a name for. Root alone can become others.
public struct OtherUser: Sendable, Equatable {
    public struct Failure: Error, CustomStringConvertible {
        public let description: String
    }

    public let user: UInt32
    public let group: UInt32
    /// The supplementary ones.
    public let groups: [UInt32]

    /// Whether this process may become others. In CI it counts as given: there, a test without it fails.
    public static let canBeMade = geteuid() == 0 || getenv("CI") != nil

    public init(_ user: UInt32, group: UInt32? = nil, groups: [UInt32] = []) {
        self.user = user
        self.group = group ?? user
        self.groups = groups
    }

    /// For a thread of its own (`onThread`): it cannot go back.
    public func becomeInThisThread() throws {
        guard prsnl_become_in_this_thread(user, group, groups, Int32(groups.count)) == 0 else {
            throw Failure(description: "become user \(user): errno \(errno)")
        }
    }

    /// The command line that starts a program as this user: setpriv(1) and its arguments.
    public func commandLine(_ program: String, _ arguments: [String] = []) -> [String] {
        let list = groups.isEmpty ? "--clear-groups" : "--groups=\(groups.map(String.init).joined(separator: ","))"
        return ["/usr/bin/setpriv", "--reuid=\(user)", "--regid=\(group)", list, program] + arguments
    }

    public func start(
        _ program: String, _ arguments: [String] = [], environment: [String: String]? = nil, directory: String? = nil,
        input: String = ""
    ) throws -> ChildProcess {
        let words = commandLine(program, arguments)
        return try ChildProcess(
            words[0], Array(words.dropFirst()), environment: environment, directory: directory, input: input)
    }

    /// Makes what is at a path theirs.
    public func own(_ path: String, mode: UInt32) throws {
        // The mode comes last: a change of the owner takes the set-group-ID bit away (chown(2)).
        guard chown(path, user, group) == 0, chmod(path, mode) == 0 else {
            throw Failure(description: "\(path): errno \(errno)")
        }
    }
}
