import Glibc
import TestSupport
import Testing

/// The package installed, upgraded, removed and purged by dpkg, in a copy of this machine's file system that is gone
/// afterwards. No systemd runs in it, as in a chroot; ServiceTests have one.
@Suite(.enabled(if: geteuid() == 0 || getenv("CI") != nil, "needs root, for an overlay of the file system"))
struct DebianLifeTests {
    /// Runs a script in a mount namespace of its own, where `$root` is an overlay of `/`; both end with the script.
    ///
    /// - Returns: the lines that it printed with `say`.
    private func inScratchRoot(_ script: String) async throws -> [String] {
        let folder = TemporaryDirectory("root")
        let setUp = """
            set -eu
            mount -t tmpfs -o mode=755 scratch "$1"
            mkdir "$1/upper" "$1/work" "$1/root"
            mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
            root=$1/root upper=$1/upper
            mount -t proc proc "$root/proc"
            cp "$2" "$root/current.deb"
            cp "$3" "$root/newer.deb"
            say() { echo "said: $*"; }
            inside() { chroot "$root" "$@"; }
            there() { if [ -e "$root$1" ] || [ -L "$root$1" ]; then say "$1 is there"; else say "$1 is gone"; fi; }
            wants=/etc/systemd/system/multi-user.target.wants

            """
        let result = try await Tool.run(
            "unshare",
            [
                "--mount", "--propagation", "private", "bash", "-c", setUp + script, "scratch", folder.path,
                try await DebianPackage.current.value, try await DebianPackage.newer.value,
            ])
        return Tool.lines(result.output).filter { $0.hasPrefix("said: ") }.map { String($0.dropFirst(6)) }
    }

    @Test func installingMakesTheUserTheStateFolderAndTheLinkThatStartsIt() async throws {
        let said = try await inScratchRoot(
            """
            inside dpkg --install /current.deb
            say "$(inside getent passwd prsnld | cut -d: -f1,6,7)"
            say "$(inside stat -c '%A %U:%G' /var/lib/prsnld)"
            say "$(inside stat -c '%A %U:%G' /etc/prsnld/prsnld.conf)"
            there $wants/prsnld.service
            there $wants/prsnld@.service
            say "$(inside dpkg --audit)"
            # It may run again at any time.
            inside /var/lib/dpkg/info/prsnld.postinst configure ''
            say "$(inside dpkg --verify prsnld)"
            # The units are where systemd looks, and nothing is wrong with them there.
            inside systemctl is-enabled prsnld.service >/dev/null && say enabled
            """)
        #expect(
            said == [
                "prsnld:/var/lib/prsnld:/usr/sbin/nologin", "drwxr-x--- prsnld:prsnld", "-rw-r--r-- root:root",
                "/etc/systemd/system/multi-user.target.wants/prsnld.service is there",
                "/etc/systemd/system/multi-user.target.wants/prsnld@.service is gone", "", "", "enabled",
            ])
    }

    @Test func anUpgradeKeepsStateConfigurationAndWhatAnAdministratorDecided() async throws {
        let said = try await inScratchRoot(
            """
            inside dpkg --install /current.deb
            echo 'a copy' >"$root/var/lib/prsnld/prsnl.sqlite"
            echo 'server_url = https://prsnl.example.org' >"$root/etc/prsnld/prsnld.conf"
            inside systemctl disable prsnld.service 2>/dev/null
            inside dpkg --install /newer.deb </dev/null
            say "$(inside dpkg-query --show --showformat '${Version} ${Status}' prsnld)"
            say "$(cat "$root/var/lib/prsnld/prsnl.sqlite")"
            say "$(cat "$root/etc/prsnld/prsnld.conf")"
            there $wants/prsnld.service
            """)
        #expect(
            said == [
                "99.0 install ok installed", "a copy", "server_url = https://prsnl.example.org",
                "/etc/systemd/system/multi-user.target.wants/prsnld.service is gone",
            ])
    }

    @Test func removalKeepsStateAndConfigurationAndAPurgeLeavesNothing() async throws {
        let said = try await inScratchRoot(
            """
            inside dpkg --install /current.deb
            mkdir "$root/var/lib/prsnld-instances" "$root/var/lib/prsnld-instances/work"
            echo 'a copy' >"$root/var/lib/prsnld/prsnl.sqlite"
            echo 'another' >"$root/var/lib/prsnld-instances/work/prsnl.sqlite"
            echo '# mine' >"$root/etc/prsnld/work.conf"
            mkdir -p "$root/etc/credstore"
            echo 'not-a-real-key' >"$root/etc/credstore/prsnld@work.api-key"
            ln -s /usr/lib/systemd/system/prsnld@.service "$root$wants/prsnld@work.service"

            inside dpkg --remove prsnld
            for file in /usr/bin/prsnld /usr/lib/systemd/system/prsnld.service /var/lib/prsnld/prsnl.sqlite \\
                /var/lib/prsnld-instances/work/prsnl.sqlite /etc/prsnld/prsnld.conf /etc/prsnld/work.conf; do
                there $file
            done
            inside dpkg --purge prsnld
            say "$(inside getent passwd prsnld | cut -d: -f1)"
            # What an overlay removed is a character device in it.
            find "$upper" -name '*prsnld*' ! -type c ! -path '*/var/log/*' -printf 'said: left: %P\\n'
            # Nothing waits to be enabled again either.
            find "$upper/var/lib/systemd" -type f -path '*deb-systemd*' -printf 'said: left: %P\\n'
            """)
        #expect(
            said == [
                "/usr/bin/prsnld is gone", "/usr/lib/systemd/system/prsnld.service is gone",
                "/var/lib/prsnld/prsnl.sqlite is there", "/var/lib/prsnld-instances/work/prsnl.sqlite is there",
                "/etc/prsnld/prsnld.conf is there", "/etc/prsnld/work.conf is there", "prsnld",
            ])
    }
}
