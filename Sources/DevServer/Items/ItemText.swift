/// The text that titles and summaries are cut from: a long run of words, so that a sentence is one copy of bytes.
enum ItemText {
    /// Where a sentence may begin.
    static let wordCount = 8_192
    /// The longest sentence, in words.
    private static let longest = 64

    static func words(_ first: Int, _ count: Int) -> String { slice(first, count, separator: 0x20, capital: false) }

    static func sentence(_ first: Int, words: Int) -> String { slice(first, words, separator: 0x20, capital: true) }

    static func slug(_ first: Int, words: Int) -> String {
        slice(first, words, separator: UInt8(ascii: "-"), capital: false)
    }

    private static func slice(_ first: Int, _ count: Int, separator: UInt8, capital: Bool) -> String {
        let start = prepared.starts[first]
        let end = prepared.starts[first + min(count, longest)] - 1
        return String(unsafeUninitializedCapacity: end - start) { buffer in
            for index in 0..<end - start {
                let byte = prepared.bytes[start + index]
                buffer[index] = byte == 0x20 ? separator : byte
            }
            if capital { buffer[0] &= 0xDF }  // all words are small ASCII letters
            return end - start
        }
    }

    private static let prepared: (bytes: [UInt8], starts: [Int]) = {
        var random = ItemRandom(state: 1)
        var bytes: [UInt8] = []
        var starts: [Int] = []
        for _ in 0...wordCount + longest {
            starts.append(bytes.count)
            bytes.append(contentsOf: random.pick(vocabulary).utf8)
            bytes.append(0x20)
        }
        return (bytes, starts)
    }()

    private static let vocabulary = [
        "a", "the", "server", "keeps", "copy", "of", "every", "page", "and", "its", "cursor", "small", "machine",
        "reads",
        "time", "network", "answers", "slowly", "while", "people", "write", "notes", "about", "gardens", "kernels",
        "music",
        "which", "nobody", "expected", "to", "find", "again", "storage", "engine", "walks", "through", "quiet",
        "evenings",
    ]
}
