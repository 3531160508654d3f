internal import CFormats
import PRSNLCore

/// HTML as libxml2's parser takes it, whatever is wrong with it.
enum HTMLReader {
    enum Event {
        /// In lower case; attributes without a value have an empty one.
        case start(String, [String: String])
        case end(String)
        /// With its entities resolved. A text may come in parts.
        case text(String)
    }

    /// More elements inside one another than a page has. libxml2 looks through all that are open for some tags, so that a text
    /// which is made for that would take minutes.
    static let deepest = 250

    private final class Reading {
        var depth = 0
        var isTooDeep = false
        let deepest: Int
        let body: (Event) -> Void

        init(_ deepest: Int, _ body: @escaping (Event) -> Void) { (self.deepest, self.body) = (deepest, body) }

        static func of(_ context: UnsafeMutableRawPointer?) -> Reading? {
            context.map { Unmanaged<Reading>.fromOpaque($0).takeUnretainedValue() }
        }
    }

    /// - Returns: false where it is too deep, or there is no memory: then not all of it was read.
    /// - Throws: `library_missing`.
    static func read(
        _ bytes: [UInt8], deepest: Int = deepest, _ body: (Event) -> Void
    ) throws(UserFacingError) -> Bool {
        try Library.html.check()
        return withoutActuallyEscaping(body) { body in
            let reading = Reading(deepest, body)
            var events = prsnl_html_events(
                start: { context, name, attributes in
                    guard let reading = Reading.of(context), let name else { return true }
                    reading.depth += 1
                    reading.body(.start(String(cString: name), HTMLReader.attributes(attributes)))
                    reading.isTooDeep = reading.isTooDeep || reading.depth > reading.deepest
                    return !reading.isTooDeep
                },
                end: { context, name in
                    guard let reading = Reading.of(context), let name else { return }
                    reading.depth -= 1
                    reading.body(.end(String(cString: name)))
                },
                text: { context, bytes, count in
                    let text = UnsafeRawBufferPointer(start: bytes, count: Int(count))
                    Reading.of(context)?.body(.text(String(decoding: text, as: UTF8.self)))
                })
            let isRead = bytes.withUnsafeBytes { bytes in
                prsnl_html_read(bytes.baseAddress, bytes.count, &events, Unmanaged.passUnretained(reading).toOpaque())
            }
            return withExtendedLifetime(reading) { isRead && !reading.isTooDeep }
        }
    }

    private static func attributes(_ list: UnsafePointer<UnsafePointer<CChar>?>?) -> [String: String] {
        var attributes: [String: String] = [:]
        var next = list
        while let pair = next, let name = pair[0] {
            attributes[String(cString: name)] = pair[1].map { String(cString: $0) } ?? ""
            next = pair + 2
        }
        return attributes
    }
}

/// A library that is loaded when it is needed.
enum Library {
    case html, markdown, zlib

    /// - Throws: `library_missing`.
    func check() throws(UserFacingError) {
        let (failure, package) =
            switch self {
            case .html: (prsnl_html_load(), "libxml2")
            case .markdown: (prsnl_markdown_load(), "libmd4c-html0")
            case .zlib: (prsnl_zlib_load(), "zlib1g")
            }
        guard let failure else { return }
        throw UserFacingError(
            .libraryMissing, "\(package) cannot be loaded: \(String(cString: failure)).",
            recoverySuggestion: "Install the package \(package).")
    }
}
