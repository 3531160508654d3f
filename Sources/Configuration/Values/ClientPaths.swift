import Glibc

/// Where prsnlctl finds the daemon and its file.
///
/// The daemon of a machine has its directories from systemd, which prsnlctl knows nothing of. So where nothing is
/// configured, it looks in both places: the person's own and the machine's. With a configuration of the person's own, it is
/// theirs, and with that of an instance (`/etc/prsnld/NAME.conf`), the instance's.
package struct ClientPaths: Sendable, Equatable {
    package var controlSocket: String
    package var database: String
    /// Of another daemon that could have been meant: the person's own, or the machine's. It need not run.
    package var otherSocket: String?
    /// `allow_network_file_system`
    package var allowsNetworkFileSystem = false

    /// - Parameter exists: whether something is at a path.
    package init(_ loaded: LoadedConfiguration, isRoot: Bool = geteuid() == 0, exists: (String) -> Bool) {
        // Root's own is the machine's, where that has a unit.
        let prefersSystem =
            loaded.file == DefaultPaths.systemConfiguration
            || isRoot && DefaultPaths.hasUnit("prsnld", exists: exists)
        let instance = DefaultPaths.instance(ofConfigurationFile: loaded.file)
        var other: String?
        func choose(_ own: String, _ key: String, _ system: String, _ ofInstance: (String) -> String) -> String {
            if loaded.origins[key] != nil { return own }
            // Of a person's own and of an instance there is one only, whether it is there yet or not.
            if loaded.isOwn { return own }
            if let instance { return ofInstance(instance) }
            let places = prefersSystem ? [system, own] : [own, system]
            let found = places.filter(exists)
            other = found.count > 1 && own != system ? found[1] : nil
            return found.first ?? places[0]
        }
        controlSocket = choose(
            loaded.configuration.controlSocket, "control_socket", DefaultPaths.systemControlSocket,
            DefaultPaths.controlSocket(ofInstance:))
        otherSocket = other
        database = choose(
            loaded.configuration.database, "database", DefaultPaths.systemDatabase, DefaultPaths.database(ofInstance:))
        allowsNetworkFileSystem = loaded.configuration.allowsNetworkFileSystem
    }

    package init(controlSocket: String, database: String) {
        self.controlSocket = controlSocket
        self.database = database
    }
}
