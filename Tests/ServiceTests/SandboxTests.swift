import Commands
import Console
import Glibc
import PRSNLCore
import Requests
import TestSupport
import Testing

/// That the unit's hardening is on, and what it keeps from whom.
@Suite(.enabled(if: Machine.isToBeUsed, "machines of a test's own need root")) struct SandboxTests {
    @Test func theDaemonRunsWithoutRightsAndWorks() async throws {
        try await ServiceScene.run { scene in
            let machine = scene.machine
            try await scene.startComplete()
            let process = try await machine.mainProcess()
            let status = try await machine.must("cat", "/proc/\(process)/status")
            let fields = Dictionary(
                status.split(separator: "\n").compactMap { line -> (String, String)? in
                    let parts = line.split(separator: ":", maxSplits: 1)
                    guard parts.count == 2 else { return nil }
                    return (String(parts[0]), parts[1].split(whereSeparator: \.isWhitespace).joined(separator: " "))
                }, uniquingKeysWith: { first, _ in first })
            #expect(fields["NoNewPrivs"] == "1")
            // A filter of system calls.
            #expect(fields["Seccomp"] == "2")
            for name in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
                #expect(fields[name] == "0000000000000000", "\(name)")
            }
            let user = try await machine.must("id", "-u", "prsnld")
            #expect(fields["Uid"] == "\(user) \(user) \(user) \(user)")

            // Users, mounts: not those of the machine.
            for kind in ["user", "mnt", "ipc"] {
                let own = try await machine.must("readlink", "/proc/\(process)/ns/\(kind)")
                #expect(try await machine.must("readlink", "/proc/1/ns/\(kind)") != own, "\(kind)")
            }
            let limits = try await machine.must("cat", "/proc/\(process)/limits")
            let core = try #require(limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") })
            #expect(core.split(whereSeparator: \.isWhitespace).dropFirst(4).prefix(2) == ["0", "0"], "\(core)")

            // Not dumpable: its memory is root's, and not the user's that it runs as (proc(5)).
            #expect(try await machine.must("stat", "--format=%U", "/proc/\(process)/mem") == "root")
            for file in ["environ", "maps", "mem"] {
                let look = try await machine.run(
                    "head", "-c", "1", "/proc/\(process)/\(file)", as: .named("prsnld"))
                #expect(look.exit != .status(0) && look.stderr.contains("Permission denied"), "\(file): \(look)")
            }

            // And what it needs, it may.
            let net = try await machine.must("prsnlctl", "status", "--json")
            let report = try JSONOutput.decode(StatusReport.self, from: Array(net.utf8))
            #expect(report.daemon?.network?.listening == .netlink, "\(net)")
        }
    }

    @Test func theUnitIsAsLockedDownAsItSays() async throws {
        try await ServiceScene.onInstalledMachine { machine in
            for unit in [ServiceScene.unit, "prsnld@work.service"] {
                // As systemd runs it, and not as it is written.
                let ran = try await machine.run(
                    "systemd-analyze", "security", "--no-pager", "--threshold=11", unit)
                #expect(ran.exit == .status(0), "\(ran.stdout)")
            }
        }
    }

    /// Tries what the unit is to forbid, and prints what came of each: 0, or the number of the error. Where a call is let
    /// through to the kernel, its arguments do nothing, or are an error of another kind.
    private static func probe() -> String {
        #if arch(x86_64)
            let numbers = [319, 322, 425, 206, 323, 278, 310, 311, 250, 248, 29, 68, 64, 240]
        #else
            let numbers = [279, 281, 425, 0, 282, 75, 270, 271, 219, 217, 194, 186, 190, 180]
        #endif
        let calls = [
            ("memfd_create", "$name, 0"), ("execveat", "-1, $name, 0, 0, 0"), ("io_uring_setup", "1, 0"),
            ("io_setup", "1, 0"), ("userfaultfd", "1"), ("vmsplice", "-1, 0, 0, 0"),
            ("process_vm_readv", "0, 0, 0, 0, 0, 1"), ("process_vm_writev", "0, 0, 0, 0, 0, 1"),
            ("keyctl", "0, -3, 0"), ("add_key", "0, 0, 0, 0, 0"), ("shmget", "0, 0, 0"), ("msgget", "1, 0"),
            ("semget", "1, 0, 0"), ("mq_open", "0, 0, 0, 0"),
        ]
        let lines = zip(calls, numbers).map { call, number in
            "say('\(call.0)', syscall(\(number), \(call.1)) != -1);\n"
        }
        return """
            my $name = 'prsnl';
            sub say { print "tried $_[0]: ", ($_[1] ? 0 : $! + 0), "\\n" }
            \(lines.joined())
            socket(my $bus, 1, 1, 0);
            say('bus', connect($bus, pack("Sa*", 1, "/run/dbus/system_bus_socket\\0")));
            say('shared memory', open(my $file, '>', "/dev/shm/probe$$"));
            my $child = fork;
            if (!$child) { exec {'/usr/bin/true'} 'true'; exit($! + 0) }
            waitpid $child, 0;
            $! = $? >> 8;
            say('program', !$?);

            """
    }

    @Test func whatTheDaemonDoesNotNeedIsForbiddenInsideTheUnit() async throws {
        try await ServiceScene.run { scene in
            let machine = scene.machine
            try await machine.write(Self.probe(), to: "/srv/probe.pl")
            func results(_ lines: [String]) -> [String: Int] {
                let found = lines.compactMap { line -> (String, Int)? in
                    let parts = line.split(separator: ":")
                    guard parts.count == 2, parts[0].hasPrefix("tried ") else { return nil }
                    return (String(parts[0].dropFirst(6)), Int(parts[1].drop { $0 == " " }) ?? -1)
                }
                return Dictionary(found, uniquingKeysWith: { first, _ in first })
            }
            // Outside of the unit the same user may do the worst of it, so that what is shown inside is shown by the unit.
            let free = try await machine.must("perl", "/srv/probe.pl", as: .named("prsnld"))
            let outside = results(free.split(separator: "\n").map(String.init))
            #expect(outside.count == 17, "\(free)")
            for name in ["memfd_create", "shared memory", "bus", "program"] {
                #expect(outside[name] == 0, "\(name): \(outside)")
            }
            for name in ["execveat", "vmsplice", "process_vm_readv", "shmget", "mq_open"] {
                #expect(outside[name] != Int(EPERM), "\(name): \(outside)")
            }

            // Inside, with a program that the unit itself would not let run.
            try await scene.override(
                "Type=oneshot", "WatchdogSec=0", "Restart=no", "RestartForceExitStatus=", "StandardOutput=journal",
                "ExecPaths=/usr/bin/perl",
                "ExecStart=", "ExecStart=/usr/bin/perl /srv/probe.pl")
            try await machine.must("systemctl", "start", ServiceScene.unit)
            let inside = try await eventually("what was tried inside") {
                let found = results(try await machine.journal().map(\.message))
                return found.count == outside.count ? found : nil
            }
            for (name, result) in inside where !["bus", "shared memory", "program"].contains(name) {
                #expect(result == Int(EPERM), "\(name)")
            }
            for name in ["bus", "shared memory", "program"] {
                #expect(inside[name] == Int(EACCES), "\(name): \(inside)")
            }
        }
    }

    /// By a name server, as most machines have it.
    @Test func aNameIsResolvedInsideTheUnit() async throws {
        try await ServiceScene.run { scene in
            let machine = scene.machine
            let nameServer = """
                import socket
                s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                s.bind(("127.0.0.1", 53))
                while True:
                    q, sender = s.recvfrom(512)
                    i = 12
                    while q[i]:
                        i += q[i] + 1
                    found = q[i + 2] == 1
                    answer = bytes([192, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1]) if found else b""
                    head = q[:2] + bytes([129, 128, 0, 1, 0, found, 0, 0, 0, 0])
                    s.sendto(head + q[12 : i + 5] + answer, sender)
                """
            try await machine.must("rm", "-f", "/etc/resolv.conf")
            try await machine.write("nameserver 127.0.0.1\n", to: "/etc/resolv.conf")
            let server = try machine.start(["python3", "-c", nameServer])
            try await eventually("the name server to answer") {
                if let exit = server.pollExit() { throw WaitedInVain("it ended (\(exit)): \(server.stderr)") }
                return try await machine.run("getent", "hosts", "prsnl.test").stdout.hasPrefix("127.0.0.1")
            }
            try await machine.must("sed", "-i", "s|//127.0.0.1:|//prsnl.test:|", ServiceScene.configuration)
            try await scene.startComplete()
            let text = try await machine.must("prsnlctl", "status", "--json")
            #expect(text.contains("prsnl.test"), "\(text)")
        }
    }

    /// docs/service.md, "Another place for the copy".
    @Test func aCopyElsewhereIsRefusedUntilTheUnitIsTold() async throws {
        try await ServiceScene.run("database = /srv/prsnld/prsnl.sqlite") { scene in
            let machine = scene.machine
            // Of the machine's programs, it needs none to run: kill is for a reload alone.
            try await machine.must("rm", "/bin/kill")
            try await machine.must("install", "-d", "-o", "prsnld", "-g", "prsnld", "-m", "750", "/srv/prsnld")
            try await scene.override("Restart=no")
            #expect(try await machine.run("systemctl", "start", ServiceScene.unit).exit != .status(0))
            _ = try await machine.waitForJournal(containing: "Read-only file system")
            _ = try await machine.waitForJournal(containing: "ReadWritePaths=")
            try await scene.override("ReadWritePaths=/srv/prsnld")
            try await scene.startComplete()
            #expect(TestFile.exists(machine.path("/srv/prsnld/prsnl.sqlite")))
        }
    }

    /// A key that stands nowhere else, as a credential of systemd's.
    @Test func aKeyThatSystemdHandsOverIsUsedAndShownNowhere() async throws {
        try await ServiceScene.run("log_level = debug") { scene in
            let machine = scene.machine
            let key = scene.server.issueToken(lifetime: .seconds(86_400))
            let signature = try #require(key.split(separator: ".").last.map(String.init))
            try await machine.must("rm", "/etc/prsnld/key")
            try await machine.must("sed", "-i", "/^api_key_file/d", ServiceScene.configuration)
            // As docs/guide.md has it.
            try await machine.write(key + "\n", to: "/srv/key", mode: 0o600)
            try await machine.must("install", "-m", "600", "/srv/key", "/etc/credstore/prsnld.api-key")
            try await scene.startComplete()
            try await machine.must("prsnlctl", "sync", "--full", "--wait")
            // A reload is not refused for a login that is not used.
            try await machine.write("{}", to: ServiceScene.database + ".login", mode: 0o600)
            try await machine.must("chown", "prsnld:", ServiceScene.database + ".login")
            try await machine.must("systemctl", "reload", ServiceScene.unit)
            _ = try await machine.waitForJournal(containing: "configuration read again")
            try await machine.must("rm", ServiceScene.database + ".login")

            let process = try await machine.mainProcess()
            for command in [
                ["systemctl", "show", ServiceScene.unit], ["systemctl", "status", "--full", ServiceScene.unit],
                ["journalctl", "--no-pager", "--output=export"],
                ["cat", "/proc/\(process)/cmdline", "/proc/\(process)/environ", "/proc/\(process)/comm"],
                ["prsnlctl", "status", "--json"], ["prsnlctl", "net", "--json"], ["prsnlctl", "history", "--json"],
            ] {
                let ran = try await machine.run(command)
                #expect(ran.exit != .status(1), "\(command): \(ran.stderr)")
                #expect(!ran.stdout.isEmpty && !ran.stdout.contains(signature), "\(command)")
            }
            // And in no file but the one that it was given in.
            let files = try await machine.run(
                "grep", "--recursive", "--files-with-matches", "--fixed-strings", signature, "/var/lib", "/run", "/etc")
            let found = files.stdout.split(separator: "\n")
            #expect(found.contains("/etc/credstore/prsnld.api-key"), "\(found)")
            #expect(
                found.allSatisfy { $0.hasPrefix("/etc/credstore/") || $0.hasPrefix("/run/credentials/") }, "\(found)")
            // Which no other user reads.
            try await machine.must("useradd", "--no-create-home", "--groups", "prsnld", "member")
            for path in ["/etc/credstore/prsnld.api-key", "/run/credentials/prsnld.service/api-key"] {
                let look = try await machine.run("cat", path, as: .named("member"))
                #expect(look.exit != .status(0) && look.stdout.isEmpty, "\(look)")
            }
        }
    }
}
