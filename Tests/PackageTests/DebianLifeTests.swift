import TestSupport
import Testing

/// The package installed, upgraded, removed and purged by dpkg.
@Suite(.enabled(if: ScratchRoot.canBeMade, "needs root, for an overlay of the file system"))
struct DebianLifeTests {
    private func inScratchRoot(_ script: String) async throws -> [String] {
        let setUp = """
            cp "$1" "$root/current.deb"
            cp "$2" "$root/newer.deb"
            wants=/etc/systemd/system/multi-user.target.wants

            """
        return try await ScratchRoot.run(
            setUp + script, try await DebianPackage.current.value.path, try await DebianPackage.newer.value.path)
    }

    @Test func installingMakesTheUserTheStateFolderAndTheLinkThatStartsIt() async throws {
        let said = try await inScratchRoot(
            """
            inside dpkg --install /current.deb
            say "$(inside getent passwd prsnld | cut -d: -f1,6,7)"
            say "$(inside stat -c '%A %U:%G' /var/lib/prsnld)"
            say $(inside stat -c '%A %U:%G' /var/lib/prsnld-instances /etc/credstore /etc/prsnld)
            say "$(inside stat -c '%A %U:%G' /etc/prsnld/prsnld.conf)"
            # dpkg knows nothing of it, and so never asks about it.
            say "$(inside dpkg-query --show --showformat '${Conffiles}' prsnld)"
            inside cmp /etc/prsnld/prsnld.conf /usr/share/prsnld/prsnld.conf
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
                "prsnld:/var/lib/prsnld:/usr/sbin/nologin", "drwxr-x--- prsnld:prsnld",
                "drwxr-xr-x root:root drwx------ root:root drwxr-xr-x root:root", "-rw-r--r-- root:root", "",
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
            # One that was removed stays so, too.
            rm "$root/etc/prsnld/prsnld.conf"
            inside dpkg --install /newer.deb </dev/null
            there /etc/prsnld/prsnld.conf
            """)
        #expect(
            said == [
                "99.0.0 install ok installed", "a copy", "server_url = https://prsnl.example.org",
                "/etc/systemd/system/multi-user.target.wants/prsnld.service is gone",
                "/etc/prsnld/prsnld.conf is gone",
            ])
    }

    /// As many as the daemon's user likes, each of which takes its reader ten seconds.
    @Test func aRemovalDoesNotWaitForEveryFileThatWasPlanted() async throws {
        let said = try await inScratchRoot(
            """
            inside dpkg --install /current.deb
            mkdir "$root/var/lib/prsnld-instances/work"
            for number in $(seq 50); do echo planted >"$root/var/lib/prsnld/$number.sqlite"; done
            # A clock by which each look at a file takes as long as it may.
            echo 1000 >"$root/now"
            printf '#!/bin/sh\ncat /now\n' >"$root/usr/local/bin/date"
            printf '#!/bin/sh\necho $(($(cat /now) + 10)) >/now\necho x >>/asked\nexit 1\n' >"$root/usr/bin/prsnlctl"
            chmod 755 "$root/usr/local/bin/date" "$root/usr/bin/prsnlctl"
            inside dpkg --remove prsnld
            say "$(wc -l <"$root/asked")"
            say "$(inside dpkg-query --show --showformat '${Status}' prsnld)"
            """)
        #expect(said == ["3", "deinstall ok config-files"])
    }

    /// Whatever it is that may hold writes: a purge has no program that could read it.
    @Test func aPurgeKeepsAnUnreadableFileAsACopyWithoutWrites() async throws {
        let said = try await inScratchRoot(
            """
            inside dpkg --install /current.deb
            mkdir "$root/var/lib/prsnld-instances/work"
            echo 'a copy that is damaged' >"$root/var/lib/prsnld/prsnl.sqlite"
            echo 'a login' >"$root/var/lib/prsnld/prsnl.sqlite.login"
            echo 'a log without its copy' >"$root/var/lib/prsnld-instances/work/prsnl.sqlite-wal"
            inside dpkg --purge prsnld >"$root/said"
            for file in /var/lib/prsnld/prsnl.sqlite /var/lib/prsnld/prsnl.sqlite.login /etc/prsnld \\
                /var/lib/prsnld-instances/work/prsnl.sqlite-wal /var/lib/prsnld-instances/.delivered; do
                there $file
            done
            say "$(grep -o '/.* is kept' "$root/said")"
            """)
        #expect(
            said == [
                "/var/lib/prsnld/prsnl.sqlite is there", "/var/lib/prsnld/prsnl.sqlite.login is gone",
                "/etc/prsnld is gone", "/var/lib/prsnld-instances/work/prsnl.sqlite-wal is there",
                "/var/lib/prsnld-instances/.delivered is gone", "/var/lib/prsnld is kept",
            ])
    }

    @Test func removalKeepsStateAndConfigurationAndAPurgeLeavesNothing() async throws {
        let said = try await inScratchRoot(
            """
            inside dpkg --install /current.deb
            mkdir "$root/var/lib/prsnld-instances/work"
            : >"$root/var/lib/prsnld/prsnl.sqlite"
            : >"$root/var/lib/prsnld-instances/work/prsnl.sqlite"
            echo 'a lock' >"$root/var/lib/prsnld/prsnl.sqlite.lock"
            echo '# mine' >"$root/etc/prsnld/work.conf"
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
