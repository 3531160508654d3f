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

    /// Several paragraphs of exactly so many bytes of UTF-8, without white space at the end.
    static func paragraphs(bytes size: Int, _ random: inout ItemRandom) -> String {
        let fullStop = UInt8(ascii: ".")
        return String(unsafeUninitializedCapacity: size) { whole in
            let buffer = UnsafeMutableBufferPointer(rebasing: whole[..<size])  // there may be more room
            var at = 0
            while at < size {
                let first = random.below(wordCount)
                let end = prepared.starts[first + 8 + random.below(longest - 8)] - 1
                let start = prepared.starts[first]
                let sentence = at
                at += prepared.bytes.copy(start..<end, to: buffer, at: at)
                buffer[sentence] &= 0xDF  // all words are small ASCII letters
                let ending = sentenceEnds[random.below(sentenceEnds.count)]
                if ending.count <= size - at {
                    at += ending.copy(0..<ending.count, to: buffer, at: at)
                } else {
                    while at < size {
                        buffer[at] = fullStop
                        at += 1
                    }
                }
            }
            while at > 0, buffer[at - 1] == 0x20 || buffer[at - 1] == 0x0A {
                at -= 1
                buffer[at] = fullStop
            }
            return size
        }
    }

    private static let sentenceEnds = [
        ". ", ". ", ". ", "! ", ", naïvely. ", ".\n", " – “größer”.\n", ".\n\n", ": 日本語.\n\n", " ☕ 😀\n\n",
    ].map { Array($0.utf8) }

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
        "which", "guests", "expected", "to", "find", "again", "storage", "engine", "walks", "through", "quiet",
        "evenings",
    ]
}

extension [UInt8] {
    /// Copies as much of a range as there is room for.
    ///
    /// - Returns: how many bytes were copied.
    fileprivate func copy(_ range: Range<Int>, to buffer: UnsafeMutableBufferPointer<UInt8>, at place: Int) -> Int {
        let count = Swift.min(range.count, buffer.count - place)
        withUnsafeBufferPointer { source in
            guard let base = source.baseAddress, let target = buffer.baseAddress else { return }
            (target + place).update(from: base + range.lowerBound, count: count)
        }
        return count
    }
}
