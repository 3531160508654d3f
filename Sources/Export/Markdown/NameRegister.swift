/// The names that are taken in a folder, as a file system sees them that does not tell upper from lower case, or two spellings
/// of an accented letter (`String` compares by canonical equivalence).
struct NameRegister {
    private var taken: Set<String> = []

    init(_ names: some Sequence<String>, _ more: some Sequence<String>) {
        for name in names { taken.insert(name.lowercased()) }
        for name in more { taken.insert(name.lowercased()) }
    }

    /// - Returns: false where it was taken before.
    mutating func take(_ name: String) -> Bool { taken.insert(name.lowercased()).inserted }
}
