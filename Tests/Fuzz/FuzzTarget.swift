/// What is fed with unchecked bytes: a name, which is also that of its corpus, and what must hold.
struct FuzzTarget: Sendable {
    let name: String
    /// Traps where something does not hold: that is how libFuzzer is told.
    let run: @Sendable ([UInt8]) -> Void

    static let all = [
        netlink, errorBody, timeline, itemDetail, token, loginFile, configuration, request, capture, reply, searchWords,
        savedSearches, exportName, frontMatter, mcp, changeCursor, importFile, xhtml,
    ]
}

/// Ends the process where something that must hold does not.
func require(_ holds: Bool, _ what: @autoclosure () -> String, file: StaticString = #file, line: UInt = #line) {
    if !holds { fatalError(what(), file: file, line: line) }
}
