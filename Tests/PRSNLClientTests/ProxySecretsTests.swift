import Testing

@testable import PRSNLClient

struct ProxySecretsTests {
    @Test(arguments: [
        ("http://user:fake%20word@proxy.example.org:3128", ["fake%20word", "fake word"]),
        ("user:fake-word@proxy.example.org", ["fake-word", "fake-word"]),
        ("http://user:fa:ke@wo%zz@proxy.example.org", ["fa:ke@wo%zz", "fa:ke@wo%zz"]),
        ("http://user:@proxy.example.org", []), ("http://user@proxy.example.org:3128", []),
        ("http://proxy.example.org:3128", []), ("", []),
    ])
    func thePasswordIsFoundAsWrittenAndAsSent(address: String, passwords: [String]) {
        #expect(ClientConfiguration.passwords(of: address) == passwords)
    }
}
