import PRSNLCore
import SyncEngine

// Until the replayer is in.
struct Connectivity {
    enum State: String { case unknown, online, unreachable, unauthorized, portal }
    var state: State = .unknown
    var since: Timestamp?
    var reason: String?
}
extension EngineState { var connectivity: Connectivity { Connectivity() } }
extension SyncEngine {
    func writesAccepted() {}
    func waitForDelivery(_ ids: [Int64], atMost: Duration?) async {
        do { try await TaskLoop.install().time.sleep(atMost ?? .seconds(3600)) } catch { return }
    }
}
