/// The network as the kernel describes it at one moment: links, addresses, default routes.
package struct NetworkSnapshot: Sendable, Equatable {
    package struct Link: Sendable, Equatable {
        package var name: String
        /// Switched on by an administrator.
        package var isUp: Bool
        /// The other end is there: RFC 2863's operational state is up, or not known and the link is running.
        package var hasCarrier: Bool
        package var isLoopback: Bool
    }

    package struct Address: Sendable, Hashable {
        package var link: Int32
        /// In the notation of RFC 5952 for IPv6.
        package var text: String
        package var prefixLength: UInt8
        package var isIPv6: Bool
        /// Valid on one link only (fe80::/10, 169.254/16).
        package var isLinkLocal: Bool
    }

    package struct Route: Sendable, Hashable {
        package enum Kind: String, Sendable { case unicast, blackhole, unreachable, prohibit }

        package var isIPv6: Bool
        package var gateway: String?
        package var link: Int32?
        package var metric: UInt32
        package var kind: Kind
    }

    /// By the kernel's index.
    package var links: [Int32: Link] = [:]
    package var addresses: Set<Address> = []
    package var defaultRoutes: Set<Route> = []

    package init() {}

    /// Whether the kernel was asked: every network has a loopback link at least.
    package var isKnown: Bool { !links.isEmpty }

    package func name(_ link: Int32?) -> String { link.flatMap { links[$0]?.name } ?? "link \(link ?? 0)" }

    /// Whether anything but this machine itself may be reached at all: a link that works, with an address.
    package var hasUsableLink: Bool {
        addresses.contains { address in
            guard let link = links[address.link] else { return false }
            return link.isUp && link.hasCarrier && !link.isLoopback && !address.isLinkLocal
        }
    }

    /// Whether a default route leads over a link that works.
    package var hasDefaultRoute: Bool {
        defaultRoutes.contains { route in
            guard route.kind == .unicast else { return false }
            guard let index = route.link, let link = links[index] else { return route.link == nil }
            return link.isUp && link.hasCarrier
        }
    }
}

extension NetworkSnapshot {
    /// What is different now, in words: `eth0: carrier lost`, `default route via 192.0.2.1 gone`.
    package func changes(to new: NetworkSnapshot) -> [String] {
        guard isKnown, new.isKnown, self != new else { return [] }
        var changes: [String] = []
        for index in Set(links.keys).union(new.links.keys).sorted() {
            switch (links[index], new.links[index]) {
            case (let old?, nil): changes.append("\(old.name): link removed")
            case (nil, let link?): changes.append("\(link.name): link added" + (link.isUp ? "" : ", down"))
            case (let old?, let link?): changes += old.changes(to: link)
            case (nil, nil): break
            }
        }
        func words(_ address: Address, in snapshot: NetworkSnapshot) -> String {
            "\(snapshot.name(address.link)): address \(address.text)/\(address.prefixLength)"
        }
        changes += addresses.subtracting(new.addresses).map { words($0, in: self) + " gone" }.sorted()
        changes += new.addresses.subtracting(addresses).map { words($0, in: new) + " added" }.sorted()
        changes += defaultRoutes.subtracting(new.defaultRoutes).map { $0.words(in: self) + " gone" }.sorted()
        changes += new.defaultRoutes.subtracting(defaultRoutes).map { $0.words(in: new) + " added" }.sorted()
        return changes
    }
}

extension NetworkSnapshot.Link {
    fileprivate func changes(to new: NetworkSnapshot.Link) -> [String] {
        var changes: [String] = []
        if name != new.name { changes.append("\(name): renamed to \(new.name)") }
        // Between two dumps, an index may have gone to another link.
        if isLoopback != new.isLoopback { changes.append("\(new.name): another link than before") }
        if isUp != new.isUp { changes.append("\(new.name): \(new.isUp ? "up" : "down")") }
        if hasCarrier != new.hasCarrier, isUp == new.isUp || new.hasCarrier {
            changes.append("\(new.name): carrier \(new.hasCarrier ? "found" : "lost")")
        }
        return changes
    }
}

extension NetworkSnapshot.Route {
    package func words(in snapshot: NetworkSnapshot) -> String {
        let family = isIPv6 ? "IPv6 default" : "default"
        guard kind == .unicast else { return "\(family) route (\(kind.rawValue))" }
        if let gateway { return "\(family) route via \(gateway)" }
        return "\(family) route over \(snapshot.name(link))"
    }
}
