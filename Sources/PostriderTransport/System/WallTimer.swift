internal import CPostriderLinux
internal import Glibc

/// A loop's alarm clock: it rings at a moment of wall-clock time, and tells when the clock was set (timerfd with
/// `TFD_TIMER_CANCEL_ON_SET`). It lives as long as its loop.
public final class WallTimer: EventSource {
    private let descriptor: Descriptor
    private let ring: () -> Void
    private let clockChanged: (_ milliseconds: Int64) -> Void
    private var deadline: Int64?
    /// Wall-clock time less the time since the machine's start, suspended time included: only setting the clock
    /// changes it.
    private var offset: Int64

    /// The kernel tells of changes only while a timer runs: without a deadline it runs until the year 2200.
    private static let farAwayMilliseconds: Int64 = 7_258_118_400_000

    init(ring: @escaping () -> Void, clockChanged: @escaping (Int64) -> Void) throws(SystemError) {
        let flags = Int32(TFD_NONBLOCK) | Int32(TFD_CLOEXEC)
        let result = systemCall("timerfd_create") { Int(timerfd_create(CLOCK_REALTIME, flags)) }
        descriptor = Descriptor(owning: Int32(try result.get()))
        self.ring = ring
        self.clockChanged = clockChanged
        offset = Self.readOffset()
        arm(atWallMilliseconds: nil)
    }

    var number: Int32 { descriptor.number }

    /// Rings once, as soon as the clock shows so many milliseconds since 1970 or more; replaces an earlier arming. Nil:
    /// never.
    public func arm(atWallMilliseconds milliseconds: Int64?) {
        deadline = milliseconds
        // 0 would disarm it.
        let moment = max(1, milliseconds ?? Self.farAwayMilliseconds)
        var time = itimerspec()
        time.it_value.tv_sec = Int(moment / 1000)
        time.it_value.tv_nsec = Int(moment % 1000 * 1_000_000)
        let flags = Int32(TFD_TIMER_ABSTIME) | Int32(TFD_TIMER_CANCEL_ON_SET)
        let result = systemCall("timerfd_settime") {
            unsafe Int(timerfd_settime(descriptor.number, flags, &time, nil))
        }
        // It is armed in any case; this says that the clock was set before.
        if case .failed(let error) = result, error.number == ECANCELED { wasCancelled() }
    }

    func ready(_ readiness: Readiness) {
        var expirations: UInt64 = 0
        take(systemCall("read") { unsafe read(descriptor.number, &expirations, 8) })
    }

    /// Takes the kernel's answer.
    func take(_ result: SystemResult) {
        switch result {
        case .done:
            guard deadline != nil else { return }
            deadline = nil
            ring()
        case .wouldBlock: break
        case .failed(let error):
            precondition(error.number == ECANCELED, "bug: read of a timerfd, errno \(error.number)")
            wasCancelled()
        }
    }

    func loopStopped() {}

    private func wasCancelled() {
        let (before, now) = (offset, Self.readOffset())
        offset = now
        arm(atWallMilliseconds: deadline)
        // Rounded: two clocks are not read at once.
        clockChanged((now - before + (now >= before ? 500_000 : -500_000)) / 1_000_000)
    }

    private static func readOffset() -> Int64 { EventLoop.wallOffsetNanoseconds }
}

extension EventLoop {
    /// Wall-clock time less the time since the machine's start, in nanoseconds, suspended time included: only setting
    /// the clock changes it.
    public static var wallOffsetNanoseconds: Int64 {
        Int64(read(CLOCK_REALTIME)) - Int64(read(CLOCK_BOOTTIME))
    }

    /// An alarm clock, not yet set.
    ///
    /// - Parameters:
    ///   - ring: called when the time has come.
    ///   - clockChanged: called when the clock was set, with the milliseconds by which it is ahead of what it would
    ///     show; 0 after a sleep of the machine that changed nothing.
    public func makeWallTimer(
        ring: @escaping () -> Void, clockChanged: @escaping (_ milliseconds: Int64) -> Void
    ) throws(TransportError) -> WallTimer {
        do {
            let timer = try WallTimer(ring: ring, clockChanged: clockChanged)
            _ = try watch(timer.number, .readable, .source(timer))
            return timer
        } catch {
            throw TransportError("Cannot make an alarm clock: \(error.text).")
        }
    }
}
