import Commands
import DevServer
import Glibc
import PRSNLCore
import Requests
import TestSupport
import Testing

/// Which daemon is meant, and what is said where that is not plain.
@Suite struct WhichDaemonTests {
    // MARK: A mistake in the configuration

    @Test func aMistakeInTheConfigurationStopsNoCommandThatOnlyReads() async throws {
        let fixture = try DaemonFixture(items: DevItem.generate(count: 3))
        #expect(try await fixture.run(["--once"]).exit == .status(0))
        try fixture.configure("pol_interval = 5m")
        let item = fixture.server.items()[0].id
        for command in readingCommands(item: item, folder: fixture.folder.file("out")) {
            let ended = try await fixture.control(command)
            // There is no write to be shown, and no daemon that knows the network.
            let cannotAnswer = [["queue", "show", "1"], ["ping"], ["net"]].contains(command)
            #expect([.status(0), .status(4)].contains(ended.exit) || cannotAnswer, "\(command): \(ended)")
            #expect(
                ended.stderr.contains(
                    "ignored here, but the daemon will not start with it: \(fixture.configuration):5: pol_interval"),
                "\(command): \(ended)")
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

    // MARK: A daemon whose socket the environment does not tell

    /// A person's own daemon, as systemd starts it, with XDG_RUNTIME_DIR. Cron, su and sudo have none.
    private func ownDaemon() async throws -> (DaemonFixture, ChildProcess, socket: String) {
        let fixture = try DaemonFixture(items: DevItem.generate(count: 3), WriteScene.makeQuick)
        for folder in [".config", ".config/prsnld", "run"] {
            try #require(mkdir(fixture.folder.file(folder), 0o700) == 0)
        }
        try TestFile.write(
            "server_url = \(fixture.server.url)\napi_key_file = \(fixture.folder.file("key"))\ntexts = no\n",
            to: fixture.folder.file(".config/prsnld/prsnld.conf"))
        let daemon = try ChildProcess(
            BuiltProducts.executable("prsnld"), [],
            environment: fixture.environment(["XDG_RUNTIME_DIR": fixture.folder.file("run")]))
        let socket = fixture.folder.file("run/prsnld/control.sock")
        try await eventually("the daemon to answer") {
            try await control(fixture, "--socket", socket, "status").exit == .status(0)
        }
        return (fixture, daemon, socket)
    }

    private func control(_ fixture: DaemonFixture, _ arguments: String..., input: String = "") async throws
        -> DaemonFixture.Ended
    {
        try await ChildProcess.run(
            BuiltProducts.executable("prsnlctl"), arguments, environment: fixture.environment([:]), input: input)
    }

    @Test func theDaemonIsFoundByTheLockOfItsCopy() async throws {
        let (fixture, daemon, socket) = try await ownDaemon()
        let status = try await control(fixture, "status", "--json")
        #expect(try fixture.decode(StatusReport.self, status).source == .daemon, "\(status)")
        let id = fixture.server.items()[0].id
        for (words, input) in [
            (["sync", "--wait"], ""), (["net"], ""), (["note", "a text"], ""), (["tag", "+later", id], ""),
            (["capture", "--stdin"], "https://example.org/1\n"), (["undo"], ""),
            (["--database", fixture.folder.file(".local/state/prsnld/prsnl.sqlite"), "note", "another"], ""),
        ] {
            if words[0] == "note" { fixture.server.refuseConnections() }
            let ended = try await ChildProcess.run(
                BuiltProducts.executable("prsnlctl"), words, environment: fixture.environment([:]), input: input)
            #expect(ended.exit == .status(0), "\(words): \(ended)")
            #expect(!ended.stderr.contains("not running"), "\(words): \(ended)")
        }
        let doctor = try await control(fixture, "doctor")
        #expect(doctor.stdout.contains("pid \(daemon.processID)") && doctor.stdout.contains(socket), "\(doctor)")
        #expect(try await daemon.terminate() == .status(0))
        #expect(try await control(fixture, "status").stdout.contains("The daemon is stopped"))
    }

    @Test func aWrongSocketIsAnsweredWithTheRightOne() async throws {
        let (fixture, daemon, socket) = try await ownDaemon()
        let wrong = fixture.folder.file("wrong.sock")
        let note = try await control(fixture, "--socket", wrong, "note", "a text")
        #expect(note.exit == .status(3) && note.stderr.contains("Nothing was queued."), "\(note)")
        #expect(note.stderr.replacing("\n", with: " ").contains("listens at \(socket)"), "\(note)")
        let status = try await control(fixture, "--socket", wrong, "status")
        #expect(status.exit == .status(3) && status.stdout.contains("The daemon cannot be asked"), "\(status)")
        #expect(status.stdout.contains(socket) && !status.stdout.contains("failed"), "\(status)")
        #expect(try await daemon.terminate() == .status(0))
    }

    @Test func aDaemonWithoutItsSocketHasNotFailed() async throws {
        let (fixture, daemon, socket) = try await ownDaemon()
        try TestFile.remove(socket)
        let status = try await control(fixture, "status")
        #expect(status.exit == .status(3) && status.stdout.contains("The daemon cannot be asked"), "\(status)")
        let said = status.stdout.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(said.contains("process \(daemon.processID) (prsnld) holds the copy"), "\(status)")
        #expect(!status.stdout.contains("failed") && !status.stdout.contains("killed"), "\(status)")
        let note = try await control(fixture, "note", "a text")
        #expect(note.exit == .status(1) && note.stderr.contains("(prsnld)"), "\(note)")
        #expect(note.stderr.contains("Nothing was queued.") && !note.stderr.contains("Stop the other"), "\(note)")
        #expect(try await daemon.terminate() == .status(0))
    }

    /// The owner of a copy can say in its lock what he likes: only a socket of the process that holds the lock is used.
    @Test func aLockLeadsToNoSocketOfAnother() async throws {
        let (fixture, daemon, socket) = try await ownDaemon()
        let other = try DaemonFixture(items: DevItem.generate(count: 3))
        try #require(try await other.run(["--once"]).exit == .status(0))
        let holder = try ChildProcess(
            "/usr/bin/python3",
            [
                "-c",
                """
                import fcntl, sys, time
                lock = open(sys.argv[1], "r+"); fcntl.lockf(lock, fcntl.LOCK_EX)
                lock.write(sys.argv[2]); lock.flush(); print("held", flush=True); time.sleep(600)
                """, other.database + ".lock", socket,
            ])
        _ = try await holder.waitForLine(containing: "held")
        let status = try await other.control("status", "--json")
        #expect(status.exit == .status(3), "\(status)")
        #expect(try other.decode(StatusReport.self, status).noDaemon?.state == .unreachable, "\(status)")
        let written = try await other.control("sync")
        #expect(written.exit == .status(3) && written.stderr.contains("(python3) holds the copy"), "\(written)")
        #expect(try await daemon.terminate() == .status(0))
        _ = fixture
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
            mount -t tmpfs none /run
            mkdir -p /run/systemd/system
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
