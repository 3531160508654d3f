import Glibc

extension DevServer {
    /// How long the texts are that a server makes up (dialects C and P).
    ///
    /// A text is made when it is asked for, and not kept. It depends on the seed, the item's id and its `updatedAt`.
    package struct TextPlan: Sendable, Equatable {
        /// UTF-8 bytes of one text. Each order of magnitude is as likely as any other.
        package var bytes: ClosedRange<Int>
        package var seed: UInt64

        package init(bytes: ClosedRange<Int>, seed: UInt64 = 1) {
            self.bytes = bytes
            self.seed = seed
        }
    }
}

extension DevServer.TextPlan {
    /// The text of an item in its present version.
    func text(of item: DevItem) -> String {
        var random = ItemRandom(state: mix(seed) ^ item.versionHash)
        return ItemText.paragraphs(bytes: size(&random), &random)
    }

    private func size(_ random: inout ItemRandom) -> Int {
        let smallest = Double(max(1, bytes.lowerBound))
        let ratio = max(1, Double(bytes.upperBound) / smallest)
        let part = Double(random.next() >> 11) / Double(1 << 53)
        return min(max(Int(smallest * pow(ratio, part)), bytes.lowerBound), bytes.upperBound)
    }
}

extension DevItem {
    /// Another number for another id, and for another `updatedAt`.
    var versionHash: UInt64 {
        id.utf8.reduce(mix(UInt64(bitPattern: updatedAt.microseconds))) { mix($0 ^ UInt64($1)) }
    }
}
