import CLinux
import Glibc
import Synchronization
import TestSupport

/// What makes a machine and cleans up after it: a shell, with namespaces for processes and mounts of its own. Whatever is
/// mounted and started in there ends with the shell, and the shell ends when this process does, because then the
/// other end of its pipe is closed. Only an empty folder and empty control groups may stay, which the next one removes.
final class MachineKeeper: Sendable {
    private static let prefix = "prsnl-machine-"

    private let folder: String
    private let shell: ChildProcess
    /// The end that is held.
    private let pipe: Mutex<Int32>

    /// - Parameter hidden: folders that are to be empty in the machine.
    init(hiding hidden: [String]) throws {
        try Self.removeStale()
        var template = Array("/tmp/\(Self.prefix)XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Self.failure("mkdtemp") }
        folder = String(decoding: template.dropLast().map { UInt8(truncatingIfNeeded: $0) }, as: UTF8.self)
        guard mkfifo(folder + "/new", 0o600) == 0 else { throw Self.failure("mkfifo") }
        // For both, so that neither end waits for the other here.
        let held = prsnl_open(folder + "/new", O_RDWR | O_CLOEXEC, 0)
        guard held >= 0 else { throw Self.failure("open a pipe") }
        // Under this name another process of tests takes a pipe without a reader for one that was left.
        guard rename(folder + "/new", folder + "/life") == 0 else { throw Self.failure("rename a pipe") }
        pipe = Mutex(held)
        let name = folder.split(separator: "/").last.map(String.init) ?? ""
        shell = try ChildProcess(
            "/usr/bin/unshare",
            ["--mount", "--pid", "--fork", "--kill-child=KILL", "--mount-proc", "/bin/sh", "-c", Self.script]
                + ["keeper", folder, name] + hidden,
            environment: ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"], directory: "/")
    }

    /// Waits for the process that is the machine's systemd.
    func leader() async throws -> Int32 {
        try await eventually("systemd-nspawn to start a systemd") { () throws -> Int32? in
            if let exit = shell.pollExit() {
                throw WaitedInVain("no machine (\(exit)): \(shell.stdout)\(shell.stderr)")
            }
            // unshare, the shell, systemd-nspawn (among what mounts and goes again), systemd.
            for inner in Self.children(of: shell.processID) {
                for spawn in Self.children(of: inner) where Self.name(of: spawn) == "systemd-nspawn" {
                    if let leader = Self.children(of: spawn).first(where: { Self.name(of: $0) == "systemd" }) {
                        return leader
                    }
                }
            }
            return nil
        }
    }

    func end() async throws {
        letGo()
        _ = try await shell.waitForExit()
        try Self.removeStale()
    }

    deinit { letGo() }

    private func letGo() {
        pipe.withLock { pipe in
            if pipe >= 0 { close(pipe) }
            pipe = -1
        }
    }

    /// Units of the machine that tests are none of the machine's business. A machine's id that is given makes it no first
    /// boot, at which everything would be enabled.
    private static let script = """
        set -eu
        folder=$1 name=$2
        shift 2
        mkdir "$folder/disk"
        mount -t tmpfs -o mode=0755,size=2g tmpfs "$folder/disk"
        cd "$folder/disk"
        mkdir upper work root
        mount -t overlay -o "lowerdir=/,upperdir=upper,workdir=work" overlay root
        rm -rf root/etc/systemd/system root/etc/systemd/user root/etc/systemd/network root/var/log/journal
        mkdir root/etc/systemd/system
        for unit in getty.target systemd-networkd.service systemd-networkd.socket systemd-resolved.service \\
            systemd-timesyncd.service nftables.service cron.service e2scrub_reap.service remote-fs.target; do
            ln -s /dev/null "root/etc/systemd/system/$unit"
        done
        # It forbids packages to start anything, in containers for builds.
        rm -f root/usr/sbin/policy-rc.d
        # No one reads manuals there, and indexing them takes longer than all else.
        rm -f root/var/lib/man-db/auto-update
        tr -d - </proc/sys/kernel/random/uuid >root/etc/machine-id
        # Where control groups are not mounted, as in some containers: here, and for this machine only.
        groups=/sys/fs/cgroup trees=
        if [ ! -e $groups/cgroup.procs ] && [ ! -e $groups/systemd/cgroup.procs ] &&
            [ ! -e $groups/unified/cgroup.procs ]; then
            mount -t tmpfs -o mode=0755 groups $groups
            mkdir $groups/systemd
            mount -t cgroup -o none,name=systemd groups $groups/systemd ||
                { umount $groups && mount -t cgroup2 groups $groups; }
        fi
        for tree in $groups/systemd $groups/unified $groups; do
            [ -e "$tree/cgroup.procs" ] || continue
            mkdir "$tree/$name"
            echo $$ >"$tree/$name/cgroup.procs"
            trees="$trees $tree"
        done
        # What the machine hides is invisible to all in it.
        empty=
        for path in "$@"; do [ ! -d "$path" ] || empty="$empty --tmpfs=$path"; done
        systemd-nspawn --quiet --directory=root --boot --machine="$name" --private-network --register=no --keep-unit \\
            --console=pipe --link-journal=no $empty -- systemd.unit=multi-user.target </dev/null &
        # Until the other end is closed.
        cat "$folder/life" >/dev/null
        kill -KILL -1
        wait
        # No other process may see these. What was killed may take a moment to go.
        for tree in $trees; do
            echo $$ >"$tree/cgroup.procs"
            tries=0
            until find "$tree/$name" -depth -type d -exec rmdir {} + 2>/dev/null || [ $tries -eq 500 ]; do
                tries=$((tries + 1))
            done
        done
        """

    // MARK: Processes

    private static func children(of process: Int32) -> [Int32] {
        text("/proc/\(process)/task/\(process)/children").split(separator: " ").compactMap { Int32($0) }
    }

    private static func name(of process: Int32) -> String {
        String(text("/proc/\(process)/comm").prefix { $0 != "\n" })
    }

    /// Empty for a process that is gone.
    private static func text(_ path: String) -> String { (try? TestFile.text(path)) ?? "" }

    // MARK: What earlier ones left

    /// Removes folders and control groups of keepers that have ended: their pipes have no reader.
    private static func removeStale() throws {
        for name in entries(of: "/tmp") where name.hasPrefix(prefix) {
            let folder = "/tmp/\(name)"
            let pipe = prsnl_open(folder + "/life", O_WRONLY | O_NONBLOCK | O_CLOEXEC, 0)
            if pipe >= 0 {
                close(pipe)
                continue
            }
            guard errno == ENXIO else { continue }
            for tree in ["/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"] {
                removeGroup("\(tree)/\(name)")
            }
            rmdir(folder + "/disk")
            unlink(folder + "/life")
            rmdir(folder)
        }
    }

    /// The kernel removes none that has processes.
    private static func removeGroup(_ path: String) {
        for name in entries(of: path) { removeGroup("\(path)/\(name)") }
        rmdir(path)
    }

    /// Without those that begin with a dot; none of what is no folder.
    private static func entries(of path: String) -> [String] {
        guard let folder = opendir(path) else { return [] }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names
    }

    private static func failure(_ what: String) -> WaitedInVain {
        WaitedInVain("\(what): \(String(cString: strerror(errno)))")
    }
}
