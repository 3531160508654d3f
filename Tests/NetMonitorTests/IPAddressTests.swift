import Testing

@testable import NetMonitor

/// Addresses as URLs and connections write them.
@Suite struct IPAddressTests {
    @Test(arguments: [
        ("192.0.2.1", "192.0.2.1"), ("[2001:db8::1]", "2001:db8::1"), ("2001:DB8:0:0::1", "2001:db8::1"),
        ("::ffff:192.0.2.1", "192.0.2.1"), ("[::ffff:c000:201]", "192.0.2.1"), ("::", "::"),
    ])
    func anAddressIsReadInItsForms(_ text: String, _ expected: String) {
        #expect(IPAddress(text)?.text == expected)
    }

    @Test(arguments: [
        "", "prsnl.example", "example", "1.2.3.4.5", "[192.0.2.1", "::1::", "1.2.3.4 x", "face", "dead.beef", "[]", "%",
        ":%v0", "0.0.0.0%:", "fe80::1%v0", "127.1",
    ])
    func aNameIsNone(_ text: String) { #expect(IPAddress(text) == nil) }

    @Test(arguments: [
        ("127.0.0.1", true), ("127.255.0.3", true), ("::1", true), ("0.0.0.0", true), ("::", true),
        ("::ffff:127.0.0.1", true), ("128.0.0.1", false), ("::2", false), ("fe80::1", false), ("0.0.0.1", false),
    ])
    func theMachineItselfIsKnown(_ text: String, _ expected: Bool) { #expect(IPAddress(text)?.isLoopback == expected) }
}
