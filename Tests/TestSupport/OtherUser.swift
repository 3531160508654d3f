import CLinux
import CTestSupport
import Glibc

/// Another user of this machine, by numbers without a name. Root alone can become others.
package struct OtherUser: Sendable, Equatable {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    package let user: UInt32
    package let group: UInt32
    /// The supplementary ones.
    package let groups: [UInt32]

    /// Whether this process may become others. In CI it counts as given: there, a test without it fails.
    package static let canBeMade = geteuid() == 0 || getenv("CI") != nil

    package init(_ user: UInt32, group: UInt32? = nil, groups: [UInt32] = []) {
        self.user = user
        self.group = group ?? user
        self.groups = groups
    }

    /// For a thread of its own (`onThread`): it cannot go back.
    package func becomeInThisThread() throws {
        guard prsnl_become_in_this_thread(user, group, groups, Int32(groups.count)) == 0 else {
            throw Failure(description: "become user \(user): errno \(errno)")
        }
    }

    /// The command line that starts a program as this user: setpriv(1) and its arguments.
    package func commandLine(_ program: String, _ arguments: [String] = []) -> [String] {
        let list = groups.isEmpty ? "--clear-groups" : "--groups=\(groups.map(String.init).joined(separator: ","))"
        return ["/usr/bin/setpriv", "--reuid=\(user)", "--regid=\(group)", list, program] + arguments
    }

    package func start(
        _ program: String, _ arguments: [String] = [], environment: [String: String]? = nil, directory: String? = nil,
        input: String = ""
    ) throws -> ChildProcess {
        let words = commandLine(program, arguments)
        return try ChildProcess(
            words[0], Array(words.dropFirst()), environment: environment, directory: directory, input: input)
    }

    /// Makes what is at a path theirs.
    package func own(_ path: String, mode: UInt32) throws {
        // The mode comes last: a change of the owner takes the set-group-ID bit away (chown(2)).
        guard chown(path, user, group) == 0, chmod(path, mode) == 0 else {
            throw Failure(description: "\(path): errno \(errno)")
        }
    }
}
