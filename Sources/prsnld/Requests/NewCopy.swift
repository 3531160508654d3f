import Console
import Control
import Glibc
import PRSNLCore
import Reports

/// `prsnlctl account --accept-new`, while the daemon runs: what it is to do when everything that works on the copy has
/// stopped.
///
/// Then the process starts itself again (execve(2)): same id, same arguments, so that systemd sees a daemon that says READY
/// once more. Every part begins with the new copy, and none has to be taught that its file can become another one.
struct NewCopy: Sendable {
    var report: AccountReport
    let conversation: ControlConversation

    /// Sets the copy aside and answers. Where that fails, the copy is as it was, and the answer says why.
    func perform(_ parts: RunningParts, log: LogHandler) async {
        var report = report
        // While the lock is held, which goes with the copy.
        await parts.finishRenewal()
        do throws(UserFacingError) {
            let path = try await parts.store.setAside(as: report.setAsideName)
            report.setAside = path
            log(.notice, .daemon, "the copy was set aside: \(path)")
            conversation.send(report)
        } catch {
            log(.error, .daemon, error.inFull)
            conversation.send(error)
        }
    }

    /// Becomes a new process of the same program. /proc/self/exe is the very program that runs, also after an upgrade has
    /// replaced it in the file system, and whatever path it was started by.
    ///
    /// - Returns: only where that fails: why.
    static func startAgain() -> String {
        execv("/proc/self/exe", CommandLine.unsafeArgv)
        return String(cString: strerror(errno))
    }
}
