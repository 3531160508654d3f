/// Where the server, or the proxy towards it, is looked for.
package struct ServerAddress: Sendable, Equatable {
    /// A name or an address, without the brackets that IPv6 has in URLs.
    package var host: String
    package var port: UInt16
    /// The address that the newest connection used; `nil` where there was none.
    package var lastAddress: String?

    package init(host: String, port: UInt16, lastAddress: String? = nil) {
        self.host = host
        self.port = port
        self.lastAddress = lastAddress
    }

    /// Where the host is known to lead: itself, if it is an address. `nil` for a name that nothing was connected to yet.
    package var literal: String? { IPAddress(host) == nil ? lastAddress : host }
}
