import Commands

/// The command line. What it does is in the module `Commands`, where tests and the manual pages find it too.
@main
enum Main {
    static func main() { Prsnlctl.main() }
}
