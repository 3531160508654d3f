import CLinux
import Glibc
import PRSNLCore

/// A thread for one probe, because a probe waits in poll(2), and tasks must not block.
enum ProbeThread {
    /// Told when the probe is not wanted any longer: `descriptor` is readable then.
    final class Cancellation: Sendable {
        let descriptor: Int32

        init() {
            descriptor = eventfd(0, Int32(EFD_CLOEXEC))
            precondition(descriptor >= 0, "eventfd: errno \(errno)")
        }

        deinit { close(descriptor) }

        func cancel() {
            var one: UInt64 = 1
            while write(descriptor, &one, 8) < 0 && errno == EINTR {}
        }
    }

    /// Runs `body` on a thread of its own.
    ///
    /// - Parameter body: Returns `nil` soon after it was cancelled.
    /// - Returns: What the body returns; `otherwise` where there is no thread to be had.
    static func run<Outcome: Sendable>(
        otherwise: Outcome, _ body: @escaping @Sendable (Cancellation) -> Outcome?
    ) async throws(CancellationError) -> Outcome {
        let cancellation = Cancellation()
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if !start({ continuation.resume(returning: body(cancellation)) }) {
                    continuation.resume(returning: otherwise)
                }
            }
        } onCancel: {
            cancellation.cancel()
        }
        guard let outcome else { throw CancellationError() }
        return outcome
    }

    private final class Work: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    private static func start(_ run: @escaping @Sendable () -> Void) -> Bool {
        var thread = pthread_t()
        let work = Unmanaged.passRetained(Work(run))
        let code = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                prsnl_set_thread_name("prsnl-probe")
                Unmanaged<Work>.fromOpaque(argument).takeRetainedValue().run()
                return nil
            }, work.toOpaque())
        guard code == 0 else {
            work.release()
            return false
        }
        pthread_detach(thread)
        return true
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
