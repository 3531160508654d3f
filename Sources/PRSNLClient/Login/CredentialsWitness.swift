import Synchronization

/// Sees what the server was really shown for the answers that it gave: a login may be renewed or replaced between any two
/// requests, and within one, so what is in use now says nothing about an answer from before.
package final class CredentialsWitness: Sendable {
    private let seen = Mutex<[Credentials]>([])

    package init() {}

    /// Each once, in the order of the answers.
    package var shown: [Credentials] { seen.withLock { $0 } }

    /// What was seen until now has been dealt with.
    package func forget() { seen.withLock { $0 = [] } }

    func note(_ credentials: Credentials) {
        seen.withLock { seen in
            if !seen.contains(credentials) { seen.append(credentials) }
        }
    }
}
