import Configuration
import PRSNLClient
import PRSNLCore
import Store
import Synchronization

/// What all parts of the engine may read at any time: the settings, and what `status` shows.
final class EngineSharedState: Sendable {
    private let values: Mutex<(settings: SyncSettings, state: EngineState, isSending: Bool)>
    private let refused = Mutex<(shown: Credentials, failure: SyncFailure)?>(nil)

    init(_ settings: SyncSettings) { values = Mutex((settings: settings, state: EngineState(), isSending: false)) }

    var settings: SyncSettings {
        get { values.withLock { $0.settings } }
        set { values.withLock { $0.settings = newValue } }
    }

    var state: EngineState { values.withLock { $0.state } }

    /// Whether the outbox has something to send that may be sent now. Work in the background lets it go first.
    var isSending: Bool {
        get { values.withLock { $0.isSending } }
        set { values.withLock { $0.isSending = newValue } }
    }

    /// The credentials that the server last took for another account's than the copy's, and would take so again.
    var refusedLogin: (shown: Credentials, failure: SyncFailure)? {
        get { refused.withLock { $0 } }
        set { refused.withLock { $0 = newValue } }
    }

    func publish(_ change: (inout EngineState) -> Void) { values.withLock { change(&$0.state) } }
}
