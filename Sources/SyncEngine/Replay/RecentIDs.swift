import PRSNLCore

/// The newest of many ids.
struct RecentIDs: Sendable {
    private var ids: Set<ByteText> = []
    private var order: [ByteText] = []

    /// Of more, the oldest half is forgotten.
    static let most = 4_096

    func contains(_ id: String) -> Bool { ids.contains(ByteText(id)) }

    mutating func insert(_ id: String) {
        guard ids.insert(ByteText(id)).inserted else { return }
        order.append(ByteText(id))
        guard order.count > Self.most else { return }
        ids.subtract(order.prefix(Self.most / 2))
        order.removeFirst(Self.most / 2)
    }
}
