internal import CPostriderLinux
internal import Glibc

/// Threads that live as long as the program's parts: one for each loop, one for the ledger.
public enum Thread {
    /// Starts a thread.
    /// - Parameters:
    ///   - name: what tools show; the kernel keeps 15 bytes of it.
    ///   - processor: the only processor it may run on; nil: any.
    public static func spawn(
        name: String, processor: Int? = nil, _ body: @escaping @Sendable () -> Void
    ) throws(TransportError) -> ThreadHandle {
        let work = unsafe Unmanaged.passRetained(Work(body))
        var thread = pthread_t()
        let result = unsafe pthread_create(
            &thread, nil,
            { context in
                guard let context = unsafe context else { preconditionFailure("bug: a thread without work") }
                unsafe Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body()
                return nil
            }, work.toOpaque())
        guard result == 0 else {
            unsafe work.release()
            throw TransportError("Cannot start the thread \(name): \(SystemError(number: result).text).")
        }
        _ = unsafe pthread_setname_np(thread, String(decoding: name.utf8.prefix(15), as: UTF8.self))
        if let processor, processor >= 0, processor < 1024 {
            var mask = [UInt](repeating: 0, count: 1024 / UInt.bitWidth)
            mask[processor / UInt.bitWidth] = 1 << UInt(processor % UInt.bitWidth)
            // Only a wish: a container may not have this processor.
            _ = unsafe pthread_setaffinity_np(thread, 128, mask)
        }
        return ThreadHandle(thread: thread)
    }

    /// Has the calling thread step back where others want its processor, for good. On Linux niceness is a thread's.
    public static func stepBack() { _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10) }

    /// Has the calling thread, and those that it spawns, run in slices of 0.1 ms where others want the processor, for
    /// good, in place of the kernel's own 3 ms. It has no larger share by that, but not as long to wait for its next
    /// slice. Threads that hand work to one another gain if each of them asks. Linux obeys from 6.12 on
    /// (sched_setattr(2)); it is only a wish.
    public static func takeShortSlices() {
        guard var scheduling = scheduling() else { return }
        scheduling.runtime = 100_000
        _ = unsafe clinux_set_scheduling(&scheduling)
    }

    /// How long a slice of the calling thread is, in nanoseconds; nil where the kernel does not say.
    static var slice: UInt64? { scheduling().flatMap { $0.runtime == 0 ? nil : $0.runtime } }

    private static func scheduling() -> clinux_scheduling? {
        var scheduling = clinux_scheduling()
        guard unsafe clinux_get_scheduling(&scheduling) == 0 else { return nil }
        return scheduling
    }

    private final class Work: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
}

/// A running thread. It is joined once, or detached when the handle goes.
public struct ThreadHandle: ~Copyable, Sendable {
    private let thread: pthread_t

    fileprivate init(thread: pthread_t) { self.thread = thread }

    deinit { _ = pthread_detach(thread) }

    /// Waits for the thread's end.
    public consuming func join() {
        _ = pthread_join(thread, nil)
        discard self
    }
}
