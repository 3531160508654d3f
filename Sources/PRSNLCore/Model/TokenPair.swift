/// The two tokens of a login: the access token goes with requests, the refresh token buys the next pair, once.
///
/// Nothing that prints values shows them: not interpolation, not `dump`, not a debugger's mirror.
package struct TokenPair: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable
{
    package let access: String
    package let refresh: String
    /// How long the access token lives, in whole seconds: what was left of it by the server's clock when it came. `nil` where
    /// that is not known. The main server's tokens say only when they end.
    package var life: Duration?

    /// Characters of one token. Those of today's servers have some hundred. HTTP servers refuse header lines of 8 KiB.
    static let longestToken = 8_192

    /// - Returns: `nil` where a token is empty, too long, or could end the header line that it stands in.
    package init?(access: String, refresh: String, life: Duration? = nil) {
        let isToken: (String) -> Bool = { text in
            !text.isEmpty && text.utf8.count <= Self.longestToken && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
        }
        guard isToken(access), isToken(refresh) else { return nil }
        self.access = access
        self.refresh = refresh
        self.life = life.flatMap { $0 > .zero ? $0 : nil }
    }

    package var description: String { "a token pair" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: [], displayStyle: .struct) }
}
