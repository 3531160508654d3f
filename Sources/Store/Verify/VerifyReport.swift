package import PRSNLCore

/// What `prsnlctl verify` has found: the JSON of `--json`. docs/cli.md names its members.
package struct VerifyReport: Sendable, Equatable, Codable {
    package enum Outcome: String, Sendable, Codable {
        case equal, different
    }

    /// One line of the answer.
    package struct Difference: Sendable, Equatable, Codable {
        /// As `rclone check` has them.
        package enum Sign: String, Sendable, Codable {
            case onlyThere = "-"
            case onlyHere = "+"
            case differs = "*"
            /// It could not be compared.
            case skipped = "!"
            /// It changes while it is read, or was changed after the copy has read it.
            case inMotion = "~"
        }

        package var sign: Sign
        @Nullable package var itemID: String? = nil
        @Nullable package var title: String? = nil
        /// The columns that differ.
        package var fields: [String] = []
        @Nullable package var reason: String? = nil
        /// When the copy has read this part of the list last.
        @Nullable package var readAt: Timestamp? = nil

        /// Nothing tells whether it came after that.
        package var isUndated: Bool { sign == .onlyHere || sign == .differs && fields == ["tags"] }

        /// By sign, and then by id: two answers can be compared line by line.
        package func isBefore(_ other: Difference) -> Bool {
            (sign.rawValue, ByteText(itemID ?? "")) < (other.sign.rawValue, ByteText(other.itemID ?? ""))
        }

        /// In bytes of JSON, at the most.
        fileprivate var size: Int {
            let texts = [itemID, title, reason].compactMap(\.self) + fields
            return texts.reduce(160) { $0 + JSONText.string($1).utf8.count }
        }
    }

    package var schemaVersion = 1
    package var outcome = Outcome.equal
    package var server: String
    @Nullable package var account: String? = nil
    /// Of the first and of the last question to the server.
    package var from: Timestamp
    package var to: Timestamp
    /// Items and texts that the server has shown, and that were compared.
    package var items = 0
    package var texts = 0
    package var requests = 0
    /// Differences, by sign.
    package var onlyThere = 0
    package var onlyHere = 0
    package var differing = 0
    package var skipped = 0
    package var inMotion = 0
    /// Of the copy, as `verify --digest` prints it.
    package var digest = ""
    /// Of the copy's changes: it tells whether this is still about the same copy.
    package var epoch = ""
    /// The first of them.
    package var differences: [Difference] = []

    package init(server: String, account: String?, from: Timestamp, to: Timestamp) {
        (self.server, self.account, self.from, self.to) = (server, account, from, to)
    }

    /// Of what was added so far; no member of the answer.
    private struct Size: Sendable, Equatable {
        var bytes = 0
        static func == (_: Size, _: Size) -> Bool { true }
    }

    private var size = Size()

    private enum CodingKeys: CodingKey {
        case schemaVersion, outcome, server, account, from, to, items, texts, requests, onlyThere, onlyHere, differing,
            skipped
        case inMotion, digest, epoch, differences
    }

    /// Bytes of differences that are listed. An answer has to fit into what the daemon keeps for a client (1 MiB).
    private static let largest = 900_000

    package var counted: Int { onlyThere + onlyHere + differing + skipped + inMotion }

    package mutating func add(
        _ sign: Difference.Sign, _ itemID: String?, title: String? = nil, fields: [String] = [],
        reason: String? = nil, readAt: Timestamp? = nil
    ) {
        let difference = Difference(
            sign: sign, itemID: itemID, title: title, fields: fields, reason: reason, readAt: readAt)
        switch sign {
        case .onlyThere: onlyThere += 1
        case .onlyHere: onlyHere += 1
        case .differs: differing += 1
        case .skipped: skipped += 1
        case .inMotion: inMotion += 1
        }
        if sign != .inMotion { outcome = .different }
        size.bytes += difference.size
        if size.bytes <= Self.largest { differences.append(difference) }
    }
}

/// Which texts are compared: one part of so many, from 1. Of no parts: none.
package struct VerifiedTexts: Sendable, Equatable {
    package static let none = VerifiedTexts(number: 0, count: 0)
    package static let all = VerifiedTexts(number: 1, count: 1)

    package let number: Int
    package let count: Int

    private init(number: Int, count: Int) { (self.number, self.count) = (number, count) }

    /// `none`, `all`, `2/7` for the second of seven parts, or `week/7` for another one each week.
    package init?(_ text: String, at now: Timestamp) {
        if let all = ["none": Self.none, "all": Self.all][text] {
            self = all
            return
        }
        let sides = text.split(separator: "/", omittingEmptySubsequences: false)
        guard sides.count == 2, let count = Int(sides[1]), (2...366).contains(count) else { return nil }
        let week = Int(now.microseconds / (7 * 86_400_000_000)) % count + 1
        guard let number = sides[0] == "week" ? week : Int(sides[0]), (1...count).contains(number) else { return nil }
        self.init(number: number, count: count)
    }
}
