import CLinux
import Glibc
import PRSNLCore

/// A thread for one probe, because a probe waits in poll(2), and tasks must not block.
enum ProbeThread {
    /// Told when the probe is not wanted any longer: `descriptor` is readable then.
    final class Cancellation: Sendable {
        let descriptor: Int32

        /// `nil` where there is no descriptor to be had.
        init?() {
            descriptor = eventfd(0, Int32(EFD_CLOEXEC))
            if descriptor < 0 { return nil }
        }

        deinit { if descriptor >= 0 { close(descriptor) } }

        func cancel() {
            var one: UInt64 = 1
            while write(descriptor, &one, 8) < 0 && errno == EINTR {}
        }
    }

    /// Runs `body` on a thread of its own.
    ///
    /// - Parameter body: Returns `nil` soon after it was cancelled.
    /// - Returns: What the body returns; `otherwise` where there is no thread or no descriptor to be had.
    static func run<Outcome: Sendable>(
        otherwise: Outcome, _ body: @escaping @Sendable (Cancellation) -> Outcome?
    ) async throws(CancellationError) -> Outcome {
        guard let cancellation = Cancellation() else { return otherwise }
        let outcome = await withTaskCancellationHandler {
            do throws(UserFacingError) {
                return try await WorkerThread.result(of: "prsnl-probe") { body(cancellation) }
            } catch {
                return otherwise
            }
        } onCancel: {
            cancellation.cancel()
        }
        guard let outcome else { throw CancellationError() }
        return outcome
    }

    enum Waited { case ready, tooLate, cancelled }

    /// Waits for a descriptor.
    static func wait(
        for descriptor: Int32, _ events: Int32, until end: ContinuousClock.Instant, _ cancellation: Cancellation
    ) -> Waited {
        while true {
            var descriptors = [
                pollfd(fd: cancellation.descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: descriptor, events: Int16(events), revents: 0),
            ]
            let left = max(.zero, ContinuousClock.now.duration(to: end))
            // Rounded up, so that the end is not waited for in a busy loop.
            let count = poll(&descriptors, 2, Int32(clamping: left > .zero ? left.wholeMilliseconds + 1 : 0))
            if descriptors[0].revents != 0 { return .cancelled }
            if count > 0 { return .ready }
            if count == 0, ContinuousClock.now >= end { return .tooLate }
        }
    }
}
