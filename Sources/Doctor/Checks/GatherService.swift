import PRSNLCore

/// The daemon as a service.
enum GatherService {
    static func run(_ scene: DoctorScene) -> DoctorService {
        let unit = SystemdUnit.look(scene)
        var facts = DoctorService(
            daemon: scene.daemon, socketPath: scene.socket, unit: unit, journal: JournalErrors.read(unit),
            now: scene.now)
        facts.lastStart = SystemdUnit.lastStart(unit, now: scene.now)
        facts.socket = FileLook.entry(scene.socket)
        return facts
    }
}
