import Console
import Glibc
package import NetMonitor
package import PRSNLCore

extension NetworkSource.How {
    /// `netlink`, `polling`, `none`.
    package var name: String {
        switch self {
        case .netlink: "netlink"
        case .polling: "polling"
        case .none: "none"
        }
    }

    /// Why the kernel does not tell what happens.
    package var reason: String? {
        switch self {
        case .netlink, .none: nil
        case .polling(let code): "netlink is not permitted: \(String(cString: strerror(code)))"
        }
    }
}

extension StatusReport.Connectivity {
    package init(_ connectivity: Connectivity) {
        self.init(
            state: connectivity.state.rawValue, since: connectivity.since,
            reason: connectivity.reason.map(ErrorReport.init))
    }
}

extension StatusReport.Network {
    package init(how: NetworkSource.How, route: String) {
        self.init(listening: how.name, listeningReason: how.reason, route: route)
    }
}
