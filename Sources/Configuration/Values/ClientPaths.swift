/// Where prsnlctl finds the daemon and its file.
///
/// The daemon of a machine has its directories from systemd, which prsnlctl knows nothing of. So where nothing is
/// configured, it looks in both places: the person's own and the machine's. With a configuration of the person's own, it is
/// theirs, and with that of an instance (`/etc/prsnld/NAME.conf`), the instance's.
package struct ClientPaths: Sendable, Equatable {
    package var controlSocket: String
    package var database: String

    /// - Parameter exists: whether something is at a path.
    package init(_ loaded: LoadedConfiguration, exists: (String) -> Bool) {
        let prefersSystem = loaded.file == DefaultPaths.systemConfiguration
        let instance = DefaultPaths.instance(ofConfigurationFile: loaded.file)
        func choose(_ own: String, _ key: String, _ system: String, _ ofInstance: (String) -> String) -> String {
            if loaded.origins[key] != nil { return own }
            // Of a person's own and of an instance there is one only, whether it is there yet or not.
            if loaded.isOwn { return own }
            if let instance { return ofInstance(instance) }
            let places = prefersSystem ? [system, own] : [own, system]
            return places.first(where: exists) ?? places[0]
        }
        controlSocket = choose(
            loaded.configuration.controlSocket, "control_socket", DefaultPaths.systemControlSocket,
            DefaultPaths.controlSocket(ofInstance:))
        database = choose(
            loaded.configuration.database, "database", DefaultPaths.systemDatabase, DefaultPaths.database(ofInstance:))
    }

    package init(controlSocket: String, database: String) {
        self.controlSocket = controlSocket
        self.database = database
    }
}
