import CSQLite
import Glibc

/// The index's words with their places in the text as people see it, for what shows them: a tokenizer of ours around SQLite's, of
/// one connection (https://sqlite.org/fts5.html#custom_tokenizers). The index itself has SQLite's, so that everybody can read it.
enum FoldingTokenizer {
    /// SQLite's.
    private struct Inner {
        var functions = fts5_tokenizer()
        var tokenizer: OpaquePointer?
    }

    /// What gets the words, and where in the text each byte of them comes from.
    private struct Receiver {
        var context: UnsafeMutableRawPointer?
        var receive: Receive
        var origins: UnsafePointer<Int32>
    }

    private typealias Receive =
        @convention(c) (
            UnsafeMutableRawPointer?, Int32, UnsafePointer<CChar>?, Int32, Int32, Int32
        ) -> Int32

    /// - Returns: a code of SQLite's.
    static func register(_ database: OpaquePointer) -> Int32 {
        guard let api = prsnl_fts5(database) else { return SQLITE_ERROR }
        let inner = UnsafeMutablePointer<Inner>.allocate(capacity: 1)
        inner.initialize(to: Inner())
        var context: UnsafeMutableRawPointer?
        var code = api.pointee.xFindTokenizer(api, "unicode61", &context, &inner.pointee.functions)
        guard code == SQLITE_OK else { return code }
        var arguments = SearchTables.tokenizerArguments.map { UnsafePointer(strdup($0)) }
        code = inner.pointee.functions.xCreate(context, &arguments, Int32(arguments.count), &inner.pointee.tokenizer)
        for argument in arguments { free(UnsafeMutablePointer(mutating: argument)) }
        guard code == SQLITE_OK else { return code }
        // The one of SQLite's serves all tables.
        var outer = fts5_tokenizer(
            xCreate: { context, _, _, result in
                result?.pointee = context.map { OpaquePointer($0) }
                return SQLITE_OK
            }, xDelete: { _ in }, xTokenize: tokenize)
        return api.pointee.xCreateTokenizer(api, "folding", inner, &outer) { context in
            guard let inner = context?.assumingMemoryBound(to: Inner.self) else { return }
            inner.pointee.functions.xDelete(inner.pointee.tokenizer)
            inner.deallocate()
        }
    }

    private static let tokenize:
        @convention(c) (
            OpaquePointer?, UnsafeMutableRawPointer?, Int32, UnsafePointer<CChar>?, Int32, Receive?
        ) -> Int32 = { tokenizer, context, flags, text, count, receive in
            guard let tokenizer, let receive else { return SQLITE_ERROR }
            let inner = UnsafePointer<Inner>(tokenizer).pointee
            // What is looked for is folded already (`SearchQuery.Term`).
            let folded = UnsafeRawBufferPointer(start: text, count: Int(count)).withMemoryRebound(to: UInt8.self) {
                flags & FTS5_TOKENIZE_QUERY == 0 && SearchText.needsHelp($0) ? SearchText($0, withOrigins: true) : nil
            }
            guard let folded else {
                return inner.functions.xTokenize(inner.tokenizer, context, flags, text, count, receive)
            }
            return (folded.origins ?? []).withUnsafeBufferPointer { origins in
                guard let origins = origins.baseAddress else { return SQLITE_OK }
                var receiver = Receiver(context: context, receive: receive, origins: origins)
                return folded.bytes.withUnsafeBytes { bytes in
                    inner.functions.xTokenize(
                        inner.tokenizer, &receiver, flags, bytes.baseAddress?.assumingMemoryBound(to: CChar.self),
                        Int32(bytes.count), forward)
                }
            }
        }

    private static let forward: Receive = { context, flags, word, length, start, end in
        guard let to = context?.assumingMemoryBound(to: Receiver.self).pointee else { return SQLITE_ERROR }
        return to.receive(to.context, flags, word, length, to.origins[Int(start)], to.origins[Int(end)])
    }
}
