import Glibc

/// A process that starts as from a shell, whatever signals the test runner blocks or ignores: posix_spawnattr_init(3).
///
/// - Parameter flags: besides those for the signals.
func withSpawnAttributes<Result>(flags: Int16 = 0, _ body: (inout posix_spawnattr_t) -> Result) -> Result {
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    sigfillset(&signals)
    posix_spawnattr_setsigdefault(&attributes, &signals)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF) | flags)
    return body(&attributes)
}
