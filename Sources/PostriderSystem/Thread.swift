internal import CPostriderSystem
internal import Glibc
public import PostriderTransport

/// Threads that live about as long as the process: one for each loop, one for the ledger.
public enum Thread {
    /// Starts a thread.
    /// - Parameters:
    ///   - name: the name that tools such as ps(1) show; the kernel keeps its first 15 bytes.
    ///   - processor: the only processor that the thread may run on; nil for any.
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
            // An error is ignored, because a container may not have this processor.
            _ = unsafe pthread_setaffinity_np(thread, 128, mask)
        }
        return ThreadHandle(thread: thread)
    }

    /// Starts a thread and waits until `body` resumes the continuation that it gets, as it does once: when the thread
    /// is ready, or cannot be. The thread may run on after that.
    ///
    /// - Throws: that no thread can be started, or what the continuation is resumed with.
    public static func start<Value: Sendable>(
        name: String, _ body: @escaping @Sendable (CheckedContinuation<Value, any Error>) -> Void
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            do throws(TransportError) {
                _ = try spawn(name: name) { body(continuation) }
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }

    /// Lowers the priority of the calling thread for good. On Linux, niceness belongs to a thread.
    public static func stepBack() { _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10) }

    /// Makes the calling thread, and threads that it spawns, run in time slices of 0.1 ms instead of the kernel's 3
    /// ms while other threads want the processor. The thread's share stays the same, but it waits less long for its
    /// next slice. Threads that hand work to one another gain if each of them does this. Linux supports it from 6.12
    /// on (sched_setattr(2)); an error is ignored.
    public static func takeShortSlices() {
        guard var scheduling = scheduling() else { return }
        scheduling.runtime = 100_000
        _ = unsafe csystem_set_scheduling(&scheduling)
    }

    /// The length of the calling thread's time slice in nanoseconds; nil if the kernel does not report it.
    static var slice: UInt64? { scheduling().flatMap { $0.runtime == 0 ? nil : $0.runtime } }

    private static func scheduling() -> csystem_scheduling? {
        var scheduling = csystem_scheduling()
        guard unsafe csystem_get_scheduling(&scheduling) == 0 else { return nil }
        return scheduling
    }

    private final class Work: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
}

/// The handle of a running thread. It is joined at most once; the thread is detached if the handle is released.
public struct ThreadHandle: ~Copyable, Sendable {
    private let thread: pthread_t

    fileprivate init(thread: pthread_t) { self.thread = thread }

    deinit { _ = pthread_detach(thread) }

    /// Waits until the thread has ended.
    public consuming func join() {
        _ = pthread_join(thread, nil)
        discard self
    }
}
