internal import CPostriderLinux
internal import Glibc

/// A timer of a loop with a resolution of microseconds, where a `LoopTimer` has milliseconds (timerfd). It takes a
/// descriptor, and a system call each time it is armed, so it is for the few uses that pace something. It lives as
/// long as its loop.
public final class PreciseTimer: EventSource {
    private let descriptor: Descriptor
    private let ring: () -> Void

    init(ring: @escaping () -> Void) throws(SystemError) {
        let flags = Int32(TFD_NONBLOCK) | Int32(TFD_CLOEXEC)
        let result = systemCall("timerfd_create") { Int(timerfd_create(CLOCK_MONOTONIC, flags)) }
        descriptor = Descriptor(owning: Int32(try result.get()))
        self.ring = ring
    }

    var number: Int32 { descriptor.number }

    /// Fires once when `EventLoop.monotonicNanoseconds` has reached this moment, and replaces an earlier arming. nil
    /// disarms it.
    public func arm(at nanoseconds: UInt64?) {
        var time = itimerspec()
        if let nanoseconds {
            // timerfd_settime(2) disarms a timer that is set to 0.
            let moment = max(1, nanoseconds)
            time.it_value.tv_sec = Int(moment / 1_000_000_000)
            time.it_value.tv_nsec = Int(moment % 1_000_000_000)
        }
        let result = systemCall("timerfd_settime") {
            unsafe Int(timerfd_settime(descriptor.number, Int32(TFD_TIMER_ABSTIME), &time, nil))
        }
        guard case .done = result else { preconditionFailure("bug: timerfd_settime") }
    }

    package func ready(_ readiness: Readiness) {
        var expirations: UInt64 = 0
        guard case .done = systemCall("read", { unsafe read(descriptor.number, &expirations, 8) }) else {
            return
        }
        ring()
    }

    package func loopStopped() {}
}

extension EventLoop {
    /// Makes a timer with a resolution of microseconds, which is not armed yet.
    public func makePreciseTimer(_ ring: @escaping () -> Void) throws(TransportError) -> PreciseTimer {
        do {
            let timer = try PreciseTimer(ring: ring)
            _ = try watch(timer.number, .readable, .source(timer))
            return timer
        } catch {
            throw TransportError("Cannot make a timer: \(error.text).")
        }
    }

    /// The current time of the clock behind `now`, for measurements within a turn.
    public static var monotonicNanoseconds: UInt64 { read(CLOCK_MONOTONIC) }

    /// The current wall-clock time in milliseconds since 1970.
    public static var realtimeMilliseconds: Int64 { Int64(read(CLOCK_REALTIME) / 1_000_000) }
}
