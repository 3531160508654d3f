import PRSNLCore

/// What an export remembers of one item's file.
final class ManifestEntry {
    /// What it wrote into the file, up to the marker.
    struct Part: Equatable {
        var hash: Fingerprint
        var length: Int
    }

    /// Changes once: when the server gives an id to an item that was made here.
    var id: String
    var name: String
    /// Of the row that the file was made from. `nil` where the item has to be looked at again.
    var fingerprint: Fingerprint?
    /// What the file may begin with: one, two after a run that was killed between its journal and its file, none where the
    /// file is known by its head alone.
    var parts: [Part]
    /// Of the file, by which it is found again after a person has renamed it.
    var inode: UInt64
    /// In this run: the item is live.
    var isSeen = false

    init(id: String, name: String, fingerprint: Fingerprint?, parts: [Part], inode: UInt64) {
        self.id = id
        self.name = name
        self.fingerprint = fingerprint
        self.parts = parts
        self.inode = inode
    }
}
