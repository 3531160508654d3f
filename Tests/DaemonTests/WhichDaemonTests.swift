import Commands
import DevServer
import Glibc
import PRSNLCore
import TestSupport
import Testing

/// Which daemon is meant, and what is said where that is not plain.
@Suite struct WhichDaemonTests {
    // MARK: A mistake in the configuration

    @Test func aMistakeInTheConfigurationStopsNoCommandThatOnlyReads() async throws {
        let fixture = try DaemonFixture(items: DevItem.generate(count: 3))
        #expect(try await fixture.run(["--once"]).exit == .status(0))
        try fixture.configure("pol_interval = 5m")
        let commands = [
            ["status"], ["list"], ["search", "a"], ["tags"], ["history"], ["queue"], ["errors"],
            ["export", fixture.folder.file("out")],
        ]
        for command in commands {
            let ended = try fixture.startControl(command)
            guard case .status(let code) = try await ended.waitForExit() else { continue }
            #expect(code == 0 || code == 4, "\(command): \(ended.stderr)")
            #expect(
                ended.stderr.contains(
                    "ignored here, but the daemon will not start with it: \(fixture.configuration):5: pol_interval"),
                "\(ended.stderr)")
        }
        for command in [["note", "a text"], ["whoami"], ["login"]] {
            let ended = try fixture.startControl(command)
            #expect(try await ended.waitForExit() == .status(1))
            #expect(
                ended.stderr.contains("prsnlctl: \(fixture.configuration):5: pol_interval is not"), "\(ended.stderr)")
        }
        // Where the copy is, is all that they need.
        for line in ["databse = /elsewhere", "control_sockt = /x", "database = \"/x"] {
            try fixture.configure(line)
            #expect(try await fixture.control("list").exit == .status(1), "\(line)")
        }
    }

    // MARK: An instance before its login

    @Test func anInstanceWithoutAConfigurationIsToldToLogIn() async throws {
        let path = "/etc/prsnld/not-there-\(getpid()).conf"
        let ended = try await ChildProcess.run(try BuiltProducts.executable("prsnld"), ["--config", path])
        #expect(ended.exit == .status(78))
        #expect(ended.stderr.contains("There is no such instance"), "\(ended)")
        #expect(
            ended.stderr.contains("next: sudo prsnlctl --instance not-there-\(getpid()) login --server URL"), "\(ended)"
        )
    }

    // MARK: Machines of a test's own

    /// A script in a mount namespace in which /run and /etc are its own.
    private func run(_ fixture: DaemonFixture, _ script: String) async throws -> DaemonFixture.Ended {
        let setUp = """
            set -eu
            mount -t tmpfs none /run
            cp -a /etc "$1/etc"
            mount --bind "$1/etc" /etc
            prsnld=$2 prsnlctl=$3
            cd "$1"

            """
        return try await ChildProcess.run(
            "/usr/bin/unshare",
            [
                "--mount", "--propagation", "private", "bash", "-c", setUp + script, "bash", fixture.folder.path,
                try BuiltProducts.executable("prsnld"), try BuiltProducts.executable("prsnlctl"),
            ], environment: ["HOME": fixture.folder.path, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"])
    }

    @Test(.enabled(if: OtherUser.canBeMade, "needs root, for a mount namespace"))
    func statusSaysThatThereIsAnotherDaemon() async throws {
        let fixture = try DaemonFixture(items: DevItem.generate(count: 3))
        let ended = try await run(
            fixture,
            """
            mkdir -p /run/prsnld /run/user/prsnld
            for name in prsnld user/prsnld; do
                sed -e "s|^database.*|database = $PWD/${name%%/*}.sqlite|" -e "s|^control_socket.*|control_socket = /run/$name/control.sock|" \\
                    prsnld.conf >${name%%/*}.conf.here
                "$prsnld" --config ${name%%/*}.conf.here 2>/dev/null &
                until "$prsnlctl" --config ${name%%/*}.conf.here status >/dev/null 2>&1 || [ $? = 4 ]; do :; done
                until [ -S /run/$name/control.sock ]; do :; done
            done
            XDG_RUNTIME_DIR=/run/user "$prsnlctl" status >/dev/null || [ $? = 4 ]
            kill %2
            wait %2 || true
            XDG_RUNTIME_DIR=/run/user "$prsnlctl" status >/dev/null || [ $? = 4 ]
            kill %1
            wait
            """)
        #expect(ended.exit == .status(0), "\(ended)")
        let said = ended.stderr.replacing("\n", with: " ")
        #expect(said.contains("This was your own daemon. The machine's runs too"), "\(ended)")
        #expect(said.contains("prsnlctl --socket /run/prsnld/control.sock status"), "\(ended)")
        #expect(said.split(separator: "runs too").count == 2, "\(ended)")
    }

    @Test(.enabled(if: OtherUser.canBeMade, "needs root, for a mount namespace"))
    func withoutAUnitALoginOfRootNamesTheProgramAndThePlace() async throws {
        let fixture = try DaemonFixture(items: DevItem.generate(count: 3))
        let login = """
            echo '\(DevAccount.owner.password)' | "$prsnlctl" login --server '\(fixture.server.url)' \\
                --email '\(DevAccount.owner.email)' --password-stdin

            """
        let ended = try await run(fixture, login + "ls /etc/prsnld \"$HOME/.local/state/prsnld\"")
        #expect(ended.exit == .status(0), "\(ended)")
        #expect(ended.stdout.contains("\n`prsnld`\n"), "\(ended)")
        #expect(!ended.stdout.contains("systemctl") && ended.stdout.contains("prsnl.sqlite.login\n"), "\(ended)")
        #expect(
            ended.stderr.contains("the login is beside \(fixture.folder.path)/.local/state/prsnld/prsnl.sqlite"),
            "\(ended)")
    }

    /// Also before there is a folder for its state, where the unit will look.
    @Test(.enabled(if: OtherUser.canBeMade, "needs root, for a mount namespace"))
    func withAUnitALoginOfRootGoesToTheMachinesDaemon() async throws {
        let fixture = try DaemonFixture(items: DevItem.generate(count: 3))
        let ended = try await run(
            fixture,
            """
            mkdir -p /etc/systemd/system
            touch /etc/systemd/system/prsnld.service
            mount -t tmpfs none /var/lib
            echo '\(DevAccount.owner.password)' | "$prsnlctl" login --server '\(fixture.server.url)' \\
                --email '\(DevAccount.owner.email)' --password-stdin
            ls /var/lib/prsnld
            """)
        #expect(ended.exit == .status(0), "\(ended)")
        #expect(
            ended.stdout.contains("systemctl start prsnld") && ended.stdout.contains("prsnl.sqlite.login\n"), "\(ended)"
        )
    }
}
