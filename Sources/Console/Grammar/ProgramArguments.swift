package import PRSNLCore

/// What the program was started with.
package enum ProgramArguments {
    /// The arguments without the program's name.
    ///
    /// From the raw vector, because `CommandLine.arguments` repairs what is not UTF-8 in silence, and a title or a path
    /// would become another one.
    ///
    /// - Throws: `usage` for an argument that is not UTF-8.
    package static func read(program: String) throws(UserFacingError) -> [String] {
        var vector: [[UInt8]] = []
        for index in 1..<max(1, Int(CommandLine.argc)) {
            guard let text = CommandLine.unsafeArgv[index] else { break }
            var bytes: [UInt8] = []
            var at = 0
            while text[at] != 0 {
                bytes.append(UInt8(bitPattern: text[at]))
                at += 1
            }
            vector.append(bytes)
        }
        return try decode(vector, program: program)
    }

    package static func decode(_ vector: [[UInt8]], program: String) throws(UserFacingError) -> [String] {
        var arguments: [String] = []
        for (index, bytes) in vector.enumerated() {
            guard let argument = String(validating: bytes, as: UTF8.self) else {
                throw UserFacingError(
                    .usage, "argument \(index + 1) is not UTF-8.",
                    recoverySuggestion: "Check the terminal's character set: `locale` should name UTF-8.",
                    nextCommand: "\(program) --help")
            }
            arguments.append(argument)
        }
        return arguments
    }
}
