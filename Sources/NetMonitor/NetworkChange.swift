package import PRSNLCore

/// What a watcher of the network is told.
package struct NetworkChange: Sendable, Equatable {
    package enum Kind: String, Sendable, Codable { case network, connectivity, clock }

    package var at: Timestamp
    package var kind: Kind
    /// In words.
    package var reasons: [String]
    /// As it is after the change.
    package var connectivity: Connectivity

    package init(at: Timestamp, kind: Kind, reasons: [String], connectivity: Connectivity) {
        self.at = at
        self.kind = kind
        self.reasons = reasons
        self.connectivity = connectivity
    }
}
