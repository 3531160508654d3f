import CLinux
import Glibc
package import PRSNLCore

/// What `prsnlctl verify` has found last, in the file `<database>.verified`: the copy itself is not written to for it.
package struct LastVerification: Sendable, Equatable, Codable {
    package var at: Timestamp
    /// 0: all that was compared was equal.
    package var differences: Int
    /// Of the copy's changes: a result of another copy says nothing.
    private var epoch = ""

    private enum CodingKeys: CodingKey { case at, differences }
    private static let title = "prsnld verified 1"

    package init(at: Timestamp, differences: Int, epoch: String) {
        (self.at, self.differences, self.epoch) = (at, differences, epoch)
    }

    package static func path(beside database: String) -> String { database + ".verified" }

    /// As it stands in the file.
    package var text: String { "\(Self.title)\n\(at)\n\(differences)\n\(epoch)\n" }

    /// `nil` where there is none of this copy.
    init?(beside database: String, epoch: String) {
        let file = prsnl_open(Self.path(beside: database), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0)
        guard file >= 0 else { return nil }
        defer { close(file) }
        let bytes = Descriptors.read(file, atMost: 255).bytes.prefix(256)
        let fields = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        guard fields.count == 4, fields[0] == Self.title, let at = Timestamp(String(fields[1])),
            let differences = Int(fields[2]), fields[3] == epoch
        else { return nil }
        self.init(at: at, differences: max(0, differences), epoch: epoch)
    }
}
