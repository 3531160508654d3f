import Glibc
import NetMonitor
import PRSNLCore

/// Prints what the listener sees, as a line of JSON for each of its events. Its one argument is the receive buffer's size in
/// bytes: the smaller, the more is lost in a flood.
@main
enum WatchNetwork {
    static func main() async throws {
        let buffer = CommandLine.arguments.dropFirst().first.flatMap { Int32($0) }
        let listener = try NetworkListener(receiveBuffer: buffer)
        for await event in listener.events {
            let snapshot = event.snapshot
            let line = Array(
                ("{\"at\":\(TimeSource.system.now().microseconds),\"addresses\":\(snapshot.addresses.count),"
                    + "\"default\":\(!snapshot.defaultRoutes.isEmpty),\"lost\":\(event.hasLostEvents)}\n").utf8)
            // The reader is gone: the measurement is over.
            guard write(STDOUT_FILENO, line, line.count) == line.count else { return }
        }
    }
}
