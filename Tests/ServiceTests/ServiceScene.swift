import Commands
import Console
import DevServer
import Glibc
import PRSNLCore
import Requests
import TestSupport
import Testing

/// A machine on which prsnld is installed from its package, and a server that the machine can reach.
struct ServiceScene: Sendable {
    static let unit = "prsnld.service"
    static let database = "/var/lib/prsnld/prsnl.sqlite"
    static let configuration = "/etc/prsnld/prsnld.conf"

    let machine: Machine
    let server: DevServer
    /// Between the two, where there is one.
    let cable: NetworkCable?

    /// Runs the body on a machine on which nothing was started yet. It is halted afterwards.
    ///
    /// - Parameters:
    ///   - cable: has the server behind it; else it is on the machine's own loopback.
    ///   - lines: of the configuration.
    static func run(
        items: Int = 40, cable usesCable: Bool = false, _ lines: String = "",
        server change: (inout DevServer.Configuration) -> Void = { _ in },
        _ body: (ServiceScene) async throws -> Void
    ) async throws {
        try await onInstalledMachine { machine in
            let cable = usesCable ? try NetworkCable(near: machine.network) : nil
            let scene = try ServiceScene(machine, cable, items: items, change)
            defer { scene.server.stop() }
            try await scene.configure(lines)
            try await body(scene)
        }
    }

    /// Runs the body on a machine with the package.
    ///
    /// - Parameter usesApt: as people do. dpkg alone takes half the time, for stories about something else.
    static func onInstalledMachine(usesApt: Bool = false, _ body: (Machine) async throws -> Void) async throws {
        let package = try await DebianPackage.current.value
        let runtime = try await SwiftRuntime.current.value
        try await withMachine(hiding: runtime.folders) { machine in
            try await machine.copy(runtime.libraries, to: "/usr/lib")
            if usesApt {
                try await machine.install(package)
            } else {
                try await machine.copy([package.path], to: "/srv")
                try await machine.must("sh", "-c", "dpkg --install /srv/*.deb")
            }
            try await body(machine)
        }
    }

    init(
        _ machine: Machine, _ cable: NetworkCable? = nil, items: Int = 40,
        _ change: (inout DevServer.Configuration) -> Void = { _ in }
    ) throws {
        var configuration = DevServer.Configuration()
        configuration.quirks.patchFails = false
        configuration.quirks.capturesPerMinute = nil
        configuration.settling = .after(.milliseconds(1))
        if let cable { configuration.address = cable.family.farAddress }
        change(&configuration)
        self.machine = machine
        self.cable = cable
        server = try (cable?.far ?? machine.network).perform { [configuration] in
            try DevServer.start(configuration, items: DevItem.generate(count: items))
        }
    }

    /// Writes the machine's configuration, and a key to it.
    func configure(_ lines: String = "") async throws {
        try await machine.write(
            server.issueToken(lifetime: .seconds(86_400)) + "\n", to: "/etc/prsnld/key", mode: 0o600)
        try await machine.must("chown", "prsnld:", "/etc/prsnld/key")
        try await machine.write(
            """
            server_url = \(server.url)
            api_key_file = /etc/prsnld/key
            allow_insecure_http = yes
            sweep_interval = 365d
            lookup_interval = 1s
            \(lines.contains("texts") ? "" : "texts = no")
            \(lines)

            """, to: Self.configuration)
    }

    /// Lines of systemd.service(5) on top of the unit's own, in [Service].
    func override(_ lines: String...) async throws {
        try await machine.write(
            "[Service]\n" + lines.joined(separator: "\n") + "\n",
            to: "/etc/systemd/system/\(Self.unit).d/test.conf")
        try await machine.must("systemctl", "daemon-reload")
    }

    func start() async throws { try await machine.must("systemctl", "start", Self.unit) }

    /// Starts it, and waits for a complete copy.
    func startComplete() async throws {
        try await start()
        try await waitUntilComplete()
    }

    // MARK: What is said

    @discardableResult
    func waitUntilComplete() async throws -> StatusReport {
        try await waitFor("a complete copy") {
            $0.copy.complete && $0.copy.live == server.itemCount && $0.daemon?.activity == .idle
        }
    }

    /// Waits for an answer of the daemon's own.
    @discardableResult
    func waitFor(_ what: String, _ condition: (StatusReport) -> Bool) async throws -> StatusReport {
        var last: Machine.Ran?
        do {
            return try await eventually(what) { () throws -> StatusReport? in
                let ran = try await machine.run("prsnlctl", "status", "--json")
                last = ran
                guard ran.exit != .status(1) else { return nil }
                let report = try JSONOutput.decode(StatusReport.self, from: Array(ran.stdout.utf8))
                return report.source == .daemon && condition(report) ? report : nil
            }
        } catch let vain as WaitedInVain {
            throw WaitedInVain("\(vain.description); status: \(String(describing: last))")
        }
    }
}

extension Machine {
    /// With apt, which takes no package whose dependencies are not there.
    func install(_ package: DebianPackage) async throws {
        try await copy([package.path], to: "/srv")
        let name = package.path.split(separator: "/").last ?? ""
        let ran = try await run(
            ["apt-get", "-q", "-y", "install", "/srv/\(name)"],
            environment: ["DEBIAN_FRONTEND": "noninteractive"])
        guard ran.exit == .status(0) else { throw WaitedInVain("apt-get install: \(ran)") }
    }

    // MARK: systemd

    /// A property of a unit: systemctl(1), systemd's org.freedesktop.systemd1(5).
    func property(_ name: String, of unit: String = ServiceScene.unit) async throws -> String {
        try await must("systemctl", "show", "--value", "--property=\(name)", unit)
    }

    func mainProcess(of unit: String = ServiceScene.unit) async throws -> String {
        try await property("MainPID", of: unit)
    }

    /// Waits until a unit is in a state: `active`, `failed`, `inactive`.
    func waitFor(_ state: String, of unit: String = ServiceScene.unit) async throws {
        try await eventually("\(unit) to be \(state)") { try await property("ActiveState", of: unit) == state }
    }

    /// Waits until systemd has started another process in the place of one.
    func waitForSuccessor(of process: String, in unit: String = ServiceScene.unit) async throws {
        try await eventually("another process than \(process)") {
            let now = try await mainProcess(of: unit)
            guard now != process, now != "0" else { return false }
            return try await property("ActiveState", of: unit) == "active"
        }
    }

    // MARK: The journal

    struct JournalLine: Decodable {
        var message: String
        /// syslog(3): 3 error … 7 debug.
        var priority: String?

        enum CodingKeys: String, CodingKey {
            case message = "MESSAGE"
            case priority = "PRIORITY"
        }
    }

    /// What a unit's processes have written, oldest first.
    func journal(of unit: String = ServiceScene.unit) async throws -> [JournalLine] {
        let text = try await must("journalctl", "--no-pager", "--output=json", "_SYSTEMD_UNIT=\(unit)")
        return try text.split(separator: "\n").map { try JSONOutput.decode(JournalLine.self, from: Array($0.utf8)) }
    }

    func waitForJournal(of unit: String = ServiceScene.unit, containing text: String) async throws -> JournalLine {
        try await eventually("\"\(text)\" in the journal") {
            try await journal(of: unit).first { $0.message.contains(text) }
        }
    }
}
