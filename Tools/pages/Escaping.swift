extension String {
    /// With a backslash in front of each of some characters.
    func escaping(_ special: String) -> String {
        reduce(into: "") { result, character in
            if special.contains(character) { result.append("\\") }
            result.append(character)
        }
    }
}
