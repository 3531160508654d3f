package import PRSNLCore
package import Store

/// Whether the copy is of another account or server than the one that is asked now. Only then may a new copy take its place:
/// a good copy should not be set aside by a slip.
package enum AccountChange {
    /// What a pull ends with that has found out.
    package static let codes: [ErrorCode] = [.accountChanged, .serverChanged]

    /// - Parameters:
    ///   - problem: what the last pull ended with, where it is one of `codes`.
    ///   - subject: the account that the login is for, by its token's own word.
    ///   - server: the server that is asked now.
    /// - Returns: what has changed, in words; `login_expired` where the login is the copy's account's, and the server takes it for
    ///   another account's; `nil` where nothing has.
    package static func found(
        copy: CopySummary, problem: UserFacingError?, subject: String?, server: String?
    ) -> UserFacingError? {
        if let problem, codes.contains(problem.code) {
            return problem.code == .accountChanged && isOf(copy, subject) ? loginExpired : problem
        }
        if let bound = copy.server.url, let server, bound != server {
            return UserFacingError(
                .serverChanged, "The copy is of \(bound), and the daemon is to ask \(server).",
                consequence: "Nothing is pulled and nothing is sent.")
        }
        if let bound = copy.accountSubject, let subject, ByteText(bound) != ByteText(subject) {
            return UserFacingError(
                .accountChanged, "The login is for another account than the one this copy is of.",
                consequence: "Nothing is pulled and nothing is sent.")
        }
        if copy.isAnonymous, subject != nil {
            return UserFacingError(
                .accountChanged, "This copy was made without a login and holds the items of all accounts.",
                consequence: "Nothing is pulled and nothing is sent.")
        }
        return nil
    }

    /// Whether the token names the account that the copy is of.
    package static func isOf(_ copy: CopySummary, _ subject: String?) -> Bool {
        guard let subject else { return false }
        return [copy.accountSubject, copy.server.accountID, copy.server.accountName].contains {
            $0.map(ByteText.init) == ByteText(subject)
        }
    }

    /// A new copy would be of the account that the server shows to a login that it does not take.
    package static let loginExpired = UserFacingError(
        .loginExpired, "The server does not take the login for the account's any more.",
        consequence: "The copy is of the right account, and was not changed.")

    /// - Throws: `nothing_to_accept`; `login_expired` where only a new login helps.
    package static func require(_ change: UserFacingError?) throws(UserFacingError) {
        if change?.code == .loginExpired { throw loginExpired }
        guard change == nil else { return }
        throw UserFacingError(
            .nothingToAccept, "The copy is of the account and the server that the daemon asks, as far as is known.",
            consequence: "Nothing was changed.")
    }
}

extension AccountReport {
    /// What the copy is called when it is set aside, by number.
    package var setAsideName: @Sendable (Int) -> String {
        let owner = account?.name ?? account?.id ?? server.map(Self.host) ?? ""
        return { [file, generatedAt] in
            SetAsideName.path(beside: file, owner: owner, at: generatedAt, number: $0)
        }
    }

    private static func host(_ server: String) -> String {
        let rest = server.firstRange(of: "://").map { server[$0.upperBound...] } ?? server[...]
        return String(rest.prefix { $0 != "/" && $0 != ":" })
    }

    /// Says what would be done.
    package mutating func plan(number: Int, dryRun: Bool) {
        setAside = setAsideName(number)
        self.dryRun = dryRun
    }
}
