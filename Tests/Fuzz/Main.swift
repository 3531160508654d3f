import Glibc

/// `prsnl-fuzz TARGET [libFuzzer's arguments]`; without any, the targets' names.
///
/// libFuzzer is linked without its own `main`, because one program then serves all targets: SwiftPM links an executable
/// once per product, and sixteen of these would be sixteen times the same 50 MB.
@main
enum Main {
    static func main() {
        guard CommandLine.arguments.count > 1 else {
            for target in FuzzTarget.all { print(target.name) }
            return
        }
        guard running != nil else {
            print("no such target: \(CommandLine.arguments[1])")
            exit(64)
        }
        // libFuzzer takes the first argument for the program's name. The target's will do: it would only be started
        // again by -fork and -jobs, which are not used.
        var count = CommandLine.argc - 1
        var arguments = CommandLine.unsafeArgv + 1
        exit(fuzzerRunDriver(&count, &arguments, runOnce))
    }

    /// libFuzzer's callback has no context to find it in.
    fileprivate static let running = FuzzTarget.all.first { $0.name == CommandLine.arguments[1] }
}

private func runOnce(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    Main.running?.run(Array(UnsafeBufferPointer(start: bytes, count: count)))
    return 0
}

/// LLVM's "Using libFuzzer as a library": returns only where inputs were given to be run, or the time is over.
@_silgen_name("LLVMFuzzerRunDriver")
private func fuzzerRunDriver(
    _ count: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
    _ run: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt
