import Glibc
import TestSupport

/// A copy of this machine's file system, changed by a script and gone with it: an overlay in a mount namespace of its own.
/// No systemd runs in it, as in a chroot; ServiceTests have one.
enum ScratchRoot {
    /// In CI nothing is skipped: what cannot be made there fails.
    static var canBeMade: Bool { geteuid() == 0 || getenv("CI") != nil }

    private static let setUp = """
        set -eu
        mount -t tmpfs -o mode=755 scratch "$1"
        mkdir "$1/upper" "$1/work" "$1/root"
        mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
        root=$1/root upper=$1/upper
        shift
        mount -t proc proc "$root/proc"
        mount --bind /dev "$root/dev"
        # The index of the machine's manual pages is not looked at here, and takes long to write.
        ln -sf true "$root/usr/bin/mandb"
        say() { echo "said: $*"; }
        inside() { chroot "$root" "$@"; }
        there() { if [ -e "$root$1" ] || [ -L "$root$1" ]; then say "$1 is there"; else say "$1 is gone"; fi; }

        """

    /// Runs a bash script in which `$root` is that copy, and `inside COMMAND` runs in it.
    ///
    /// - Parameter arguments: `$1` and so on.
    /// - Returns: the lines that it printed with `say` or `there`.
    static func run(_ script: String, _ arguments: String...) async throws -> [String] {
        let folder = TemporaryDirectory("root")
        let unshare = ["--mount", "--propagation", "private", "bash", "-c", setUp + script, "scratch", folder.path]
        let result = try await Tool.run("unshare", unshare + arguments)
        return Tool.lines(result.output).filter { $0.hasPrefix("said: ") }.map { String($0.dropFirst(6)) }
    }
}
