import Configuration
import PRSNLCore
import Synchronization

/// What all parts of the engine may read at any time: the settings, and what `status` shows.
final class EngineBoard: Sendable {
    private let values: Mutex<(settings: SyncSettings, state: EngineState)>

    init(_ settings: SyncSettings) { values = Mutex((settings: settings, state: EngineState())) }

    var settings: SyncSettings {
        get { values.withLock { $0.settings } }
        set { values.withLock { $0.settings = newValue } }
    }

    var state: EngineState { values.withLock { $0.state } }

    func publish(_ change: (inout EngineState) -> Void) { values.withLock { change(&$0.state) } }
}
