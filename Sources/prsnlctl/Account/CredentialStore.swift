import Configuration
import Console

extension CredentialStore {
    /// `nil` also for daemons that systemd hands nothing to.
    static func key(for unit: ServiceUnit) -> Key? {
        // With a database of its own choosing it is about a file, not about the unit.
        guard case .system(let name) = unit.kind, !unit.options.contains("--database") else { return nil }
        return key(ofUnit: name)
    }
}
