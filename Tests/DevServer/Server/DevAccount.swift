package import PRSNLCore

/// A person who may log in (dialect C) or holds an API key (P and E).
package struct DevAccount: Sendable, Equatable {
    package var id: String
    package var email: String
    package var name: String
    package var password: String
    /// Dialects P and E.
    package var apiKey: String
    package var createdAt = Timestamp(microseconds: 1_735_689_600_000_000)

    package init(id: String, email: String, name: String, password: String, apiKey: String) {
        self.id = id
        self.email = email
        self.name = name
        self.password = password
        self.apiKey = apiKey
    }

    /// Whose items the generator makes.
    package static let owner = DevAccount(
        id: "0b1ac6f1-6a4e-4d0c-9a55-3f0f4b2f7a01", email: "owner@prsnl.example", name: "Olive Owner",
        password: "not-a-real-password", apiKey: "fake-owner-api-key")

    /// A second account, for tests that mix them up.
    package static let other = DevAccount(
        id: "5d7f3c92-1f0e-4b27-8a4b-6b7c2f1d9e02", email: "other@prsnl.example", name: "Otto Other",
        password: "not-a-real-password-either", apiKey: "fake-other-api-key")

    /// The built-in user whose items dialect C shows to expired and forged tokens.
    package static let testUser = DevAccount(
        id: "e03c9686-09b0-4a06-b236-d0839ac7f5df", email: "test@prsnl.example", name: "Test User",
        password: "not-a-real-password-at-all", apiKey: "fake-test-api-key")
}
