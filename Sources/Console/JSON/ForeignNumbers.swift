import PRSNLCore

/// The numbers of a document that somebody else wrote.
enum ForeignNumbers {
    /// The same document with each number clamped as `ForeignNumber` says: none of ours is so large, and arithmetic on others
    /// would end the program.
    static func clamped(_ json: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(json.count)
        var isText = false
        var at = 0
        while at < json.count {
            let byte = json[at]
            if isText, byte == UInt8(ascii: "\\") {
                result += json[at..<min(at + 2, json.count)]
                at += 2
                continue
            }
            if byte == UInt8(ascii: "\"") { isText.toggle() }
            guard !isText, byte == UInt8(ascii: "-") || (48...57).contains(byte) else {
                result.append(byte)
                at += 1
                continue
            }
            let end = json[at...].firstIndex { !"+-.eE0123456789".utf8.contains($0) } ?? json.count
            result += clamped(number: json[at..<end])
            at = end
        }
        return result
    }

    private static func clamped(number: ArraySlice<UInt8>) -> [UInt8] {
        // What is no number is left to the decoder, which says so.
        guard let value = Double(String(decoding: number, as: UTF8.self)) else { return Array(number) }
        let clamped = ForeignNumber.clamp(value)
        return clamped.magnitude < ForeignNumber.largest ? Array(number) : Array("\(clamped)".utf8)
    }
}
