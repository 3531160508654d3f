/// The requests of one ping and the answers to them. The kernel fills in identifier and checksum.
struct EchoConversation {
    private let isIPv6: Bool
    /// What is not ours is told by it.
    private let token: UInt64
    private var sent: [ContinuousClock.Instant] = []

    init(isIPv6: Bool, token: UInt64 = .random(in: .min ... .max)) {
        self.isIPv6 = isIPv6
        self.token = token
    }

    /// Type, code, checksum, identifier, number; 8 bytes, and the token.
    mutating func request(at now: ContinuousClock.Instant) -> [UInt8] {
        sent.append(now)
        let number = UInt16(truncatingIfNeeded: sent.count - 1)
        return [isIPv6 ? 128 : 8, 0, 0, 0, 0, 0] + NetlinkMessage.native(number.bigEndian)
            + NetlinkMessage.native(token)
    }

    /// How long ago the request was sent which this answers; `nil` where it answers none.
    func time(of answer: ArraySlice<UInt8>, at now: ContinuousClock.Instant) -> Duration? {
        let start = answer.startIndex
        guard answer.count == 16, answer[start] == (isIPv6 ? 129 : 0), answer[start + 1] == 0,
            Array(answer.suffix(8)) == NetlinkMessage.native(token),
            let number = answer.uint16(at: start + 6).map(UInt16.init(bigEndian:)), Int(number) < sent.count
        else { return nil }
        return sent[Int(number)].duration(to: now)
    }
}
