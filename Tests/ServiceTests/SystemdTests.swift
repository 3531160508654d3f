import Commands
import Console
import Control
import DevServer
import Glibc
import PRSNLCore
import Requests
import TestSupport
import Testing

/// What systemd does with the daemon and for it.
@Suite(.enabled(if: Machine.isToBeUsed, "machines of a test's own need root")) struct SystemdTests {
    @Test func systemctlStatusShowsThatItIsReadyAndHowTheCopyIs() async throws {
        try await ServiceScene.run { scene in
            let machine = scene.machine
            // Type=notify: it returns when READY=1 has come.
            try await scene.start()
            #expect(try await machine.property("ActiveState") == "active")
            try await eventually("the state in words") {
                try await machine.property("StatusText").hasPrefix("online, 40 items, complete as of ")
            }
            let status = try await machine.must("systemctl", "status", "--no-pager", ServiceScene.unit)
            #expect(status.contains("Active: active (running)"), "\(status)")
            #expect(status.contains("Status: \"online, 40 items, complete as of "), "\(status)")
            #expect(try await machine.property("Type") == "notify")
        }
    }

    @Test func itIsReadyWithoutANetwork() async throws {
        try await ServiceScene.run { scene in
            scene.server.refuseConnections()
            try await scene.start()
            #expect(try await scene.machine.property("ActiveState") == "active")
            try scene.machine.network.perform { try scene.server.acceptConnections() }
            try await scene.waitUntilComplete()
        }
    }

    @Test func aReloadChangesWhatIsLoggedAndTheJournalHasThePriorities() async throws {
        try await ServiceScene.run { scene in
            let machine = scene.machine
            try await scene.startComplete()
            let process = try await machine.mainProcess()
            let before = try await machine.journal()
            #expect(before.contains { $0.priority == "5" && $0.message.contains("prsnld \(ProductVersion.current)") })
            #expect(before.allSatisfy { $0.priority != "7" }, "\(before)")

            try await scene.configure("log_level = debug")
            try await machine.must("systemctl", "reload", ServiceScene.unit)
            _ = try await machine.waitForJournal(containing: "log_level = debug")
            try await machine.must("prsnlctl", "sync", "--wait")
            try await eventually("a debug line") { try await machine.journal().contains { $0.priority == "7" } }

            // A wrong configuration changes nothing, and is an error of the log, also where a person sends the signal.
            try await scene.configure("log_level = loud")
            try await machine.must("systemctl", "kill", "--signal=HUP", ServiceScene.unit)
            let line = try await machine.waitForJournal(containing: "everything stays as it was")
            #expect(line.priority == "3")
            let lines = try await machine.journal()
            #expect(lines.allSatisfy { line in ["3", "4", "5", "6", "7"].contains(line.priority) }, "\(lines)")
            // What systemd strips is the prefix of sd-daemon(3).
            #expect(lines.allSatisfy { !$0.message.hasPrefix("<") })
            #expect(try await machine.mainProcess() == process)
        }
    }

    @Test func aReloadWithAWrongConfigurationFailsAndSaysWhyAndTheDaemonGoesOn() async throws {
        try await ServiceScene.run { scene in
            let machine = scene.machine
            try await scene.startComplete()
            let process = try await machine.mainProcess()
            let watch = try machine.start(["prsnlctl", "net", "--watch"])
            try await eventually("the first line of a client that stays") { !watch.stdout.isEmpty }

            try await scene.configure("log_level = loud")
            #expect(try await machine.run("systemctl", "reload", ServiceScene.unit).exit != .status(0))
            let line = try await machine.waitForJournal(containing: "log_level is not a log level: \"loud\"")
            #expect(line.priority == "3")
            #expect(try await machine.property("ActiveState") == "active")
            #expect(try await machine.mainProcess() == process)
            scene.server.addNew()
            // A new client would read the configuration, too.
            let places = ["--socket", "/run/prsnld/control.sock", "--database", ServiceScene.database]
            try await machine.must(["prsnlctl"] + places + ["sync", "--wait"])
            let text = try await machine.must(["prsnlctl"] + places + ["status", "--json"])
            let report = try JSONOutput.decode(StatusReport.self, from: Array(text.utf8))
            #expect(report.source == .daemon && report.copy.live == 41, "\(text)")
            #expect(watch.pollExit() == nil, "\(watch.stdout)\(watch.stderr)")
            // The daemon was not asked to read it.
            let lines = try await machine.journal()
            #expect(lines.allSatisfy { !$0.message.contains("everything stays as it was") }, "\(lines)")

            try await scene.configure("log_level = debug")
            try await machine.must("systemctl", "reload", ServiceScene.unit)
            _ = try await machine.waitForJournal(containing: "log_level = debug")
            // What a check prints is not worth the journal's space.
            let all = try await machine.journal()
            #expect(all.allSatisfy { !$0.message.contains("configuration is in order") }, "\(all)")
        }
    }

    @Test func aDatabaseThatCannotBeUsedEndsTheServiceUntilItIsRepaired() async throws {
        try await ServiceScene.run { scene in
            let machine = scene.machine
            try await scene.override("RestartSec=10ms")
            try await machine.write(
                String(repeating: "no database ", count: 1_000), to: ServiceScene.database, mode: 0o640)
            try await machine.must("chown", "prsnld:", ServiceScene.database)
            #expect(try await machine.run("systemctl", "start", ServiceScene.unit).exit != .status(0))
            try await machine.waitFor("failed")
            #expect(try await machine.property("ExecMainStatus") == "65")
            #expect(try await machine.property("NRestarts") == "0")
            // As the error says.
            try await machine.must("mv", ServiceScene.database, "/srv/old")
            try await scene.startComplete()
        }
    }

    @Test func aKilledDaemonIsStartedAgainAndLosesNothing() async throws {
        try await ServiceScene.run { scene in
            let machine = scene.machine
            try await scene.override("RestartSec=100ms")
            try await scene.startComplete()
            scene.server.refuseConnections()
            let address = "https://example.com/queued"
            let queued = try await machine.must("prsnlctl", "capture", address)
            #expect(queued.hasPrefix("queued #1"), "\(queued)")

            let process = try await machine.mainProcess()
            try await machine.must("systemctl", "kill", "--signal=KILL", ServiceScene.unit)
            try await machine.waitForSuccessor(of: process)
            #expect(try await machine.property("NRestarts") == "1")
            #expect(scene.server.captures.isEmpty)
            try machine.network.perform { try scene.server.acceptConnections() }
            try await scene.waitFor("nothing that waits") { $0.outbox?.waiting == 0 && $0.copy.live == 41 }
            #expect(scene.server.captures.map(\.url) == [address])
        }
    }

    @Test(arguments: ["control", "store"])
    func aDaemonThatHangsIsKilledByTheWatchdogAndStartedAgain(point: String) async throws {
        try await ServiceScene.run { scene in
            let machine = scene.machine
            // One that hangs, and then, without the variable, one that does not. Far less time than the unit gives, because
            // it is waited for.
            try await machine.write("PRSNL_HANG_AT=\(point)\n", to: "/run/hang")
            try await scene.override(
                "EnvironmentFile=-/run/hang", "WatchdogSec=6s", "RestartSec=100ms",
                "ExecStartPost=+/bin/rm -f /run/hang")
            try await scene.start()
            let process = try await machine.mainProcess()
            // It hangs when it is asked, or after its first pull.
            let asking = try machine.start(["prsnlctl", "ping"])
            try await machine.waitForSuccessor(of: process)
            _ = try await asking.waitForExit()
            try await scene.waitUntilComplete()
            // It says itself what hangs, before systemd kills it.
            let lines = try await machine.journal()
            #expect(
                lines.contains { $0.priority == "3" && $0.message.contains("its watchdog is not fed meanwhile") },
                "\(lines)")
            let all = try await machine.must("journalctl", "--no-pager", "--unit=\(ServiceScene.unit)")
            #expect(all.contains("Watchdog timeout") && all.contains("result 'watchdog'"), "\(all)")
        }
    }

    @Test func aWrongConfigurationFailsAndIsNotTriedAgain() async throws {
        try await ServiceScene.run("poll_intervall = 5m") { scene in
            let machine = scene.machine
            try await scene.override("RestartSec=10ms")
            let start = try await machine.run("systemctl", "start", ServiceScene.unit)
            #expect(start.exit != .status(0))
            try await machine.waitFor("failed")
            #expect(try await machine.property("ExecMainStatus") == "78")
            #expect(try await machine.property("NRestarts") == "0")
            let line = try await machine.waitForJournal(containing: "poll_intervall")
            #expect(line.priority == "3")
            // Once corrected, it starts.
            try await scene.configure()
            try await scene.startComplete()
        }
    }

    @Test func itStopsWithinTwoSecondsWhileItPulls() async throws {
        try await ServiceScene.run(items: 20_000, server: { $0.pageCost = .fixed(.milliseconds(50)) }) { scene in
            let machine = scene.machine
            try await scene.start()
            try await scene.waitFor("a backfill under way") { $0.daemon?.activity == .pulling && $0.copy.live >= 100 }
            try await machine.must("systemctl", "stop", ServiceScene.unit)
            #expect(try await machine.property("Result") == "success")
            #expect(try await machine.property("ExecMainStatus") == "0")
            let began = try #require(Int(try await machine.property("ActiveExitTimestampMonotonic")))
            let ended = try #require(Int(try await machine.property("InactiveEnterTimestampMonotonic")))
            // The one time that is a promise.
            #expect(ended - began < 2_000_000, "\(ended - began) µs")
            let count = try await machine.must(
                "sqlite3", "-readonly", ServiceScene.database, "SELECT count(*) FROM timeline")
            #expect(try #require(Int(count)) < 20_000)
        }
    }

    @Test func aLinkThatGoesDownAndComesBackIsNoticed() async throws {
        try await ServiceScene.run(cable: true) { scene in
            let machine = scene.machine
            try await scene.startComplete()
            let report = try await scene.waitFor("netlink") { $0.daemon?.network?.listening == .netlink }
            #expect(report.daemon?.connectivity.state == .online)
            try machine.network.run("ip", "link", "set", NetworkCable.nearLink, "down")
            try await scene.waitFor("offline") { $0.daemon?.connectivity.state == .offline }
            try await eventually("the state in words") {
                try await machine.property("StatusText").hasPrefix("offline since ")
            }
            try await machine.must("prsnlctl", "note", "written without a network")
            scene.server.addNew()
            try machine.network.run("ip", "link", "set", NetworkCable.nearLink, "up")
            try machine.network.run(
                "ip", "route", "replace", "default", "via", NetworkCable.Family.ipv4.gateway, "dev",
                NetworkCable.nearLink)
            try await scene.waitFor("all that happened meanwhile") {
                $0.daemon?.connectivity.state == .online && $0.outbox?.waiting == 0 && $0.copy.live == 42
            }
            #expect(scene.server.captures.count == 1)
        }
    }

    @Test func twoInstancesWorkSideBySide() async throws {
        try await ServiceScene.onInstalledMachine { machine in
            let scenes = [("a", try ServiceScene(machine, items: 30)), ("b", try ServiceScene(machine, items: 50))]
            defer { for (_, scene) in scenes { scene.server.stop() } }
            for (name, scene) in scenes {
                try await scene.configure()
                let folder = "/etc/prsnld"
                try await machine.must("mv", "\(folder)/key", "\(folder)/\(name).key")
                try await machine.must(
                    "sed", "-i", "s|/etc/prsnld/key|\(folder)/\(name).key|", "\(folder)/prsnld.conf")
                try await machine.must("mv", "\(folder)/prsnld.conf", "\(folder)/\(name).conf")
            }
            try await machine.must("systemctl", "start", "prsnld@a", "prsnld@b")
            for (name, scene) in scenes {
                let unit = "prsnld@\(name).service"
                try await eventually("a complete copy of \(unit)") {
                    try await machine.property("StatusText", of: unit)
                        .hasPrefix("online, \(scene.server.itemCount) items, complete")
                }
                let count = try await machine.must(
                    "sqlite3", "-readonly", "/var/lib/prsnld-instances/\(name)/prsnl.sqlite",
                    "SELECT count(*) FROM timeline")
                #expect(count == "\(scene.server.itemCount)")
                let answer = try await machine.must(
                    "prsnlctl", "--socket", "/run/prsnld-instances/\(name)/control.sock", "status", "--json")
                let report = try JSONOutput.decode(StatusReport.self, from: Array(answer.utf8))
                #expect(report.source == .daemon && report.copy.live == scene.server.itemCount)
            }
            // One that is stopped leaves the other alone.
            let process = try await machine.mainProcess(of: "prsnld@b")
            try await machine.must("systemctl", "stop", "prsnld@a")
            #expect(try await machine.mainProcess(of: "prsnld@b") == process)
            #expect(try await machine.property("ActiveState", of: "prsnld@b") == "active")
        }
    }
}
