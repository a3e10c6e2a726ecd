internal import CPostriderSystem
internal import Glibc
public import PostriderTransport

/// A timer of a loop for a moment of wall-clock time. It also reports when the clock was set (timerfd with
/// `TFD_TIMER_CANCEL_ON_SET`). It lives as long as its loop.
public final class WallTimer: EventSource {
    private let descriptor: Descriptor
    private let ring: () -> Void
    private let clockChanged: (_ milliseconds: Int64) -> Void
    private var deadline: Int64?
    /// Wall-clock time minus boot time (which includes suspension), in nanoseconds: it changes only when the clock is
    /// set.
    private var offset: Int64

    /// The kernel reports changes of the clock only while a timer is armed, so without a deadline it is armed for the
    /// year 2200.
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

    /// Fires once, as soon as the wall clock shows this many milliseconds since 1970 or more, and replaces an earlier
    /// arming. nil disarms it.
    public func arm(atWallMilliseconds milliseconds: Int64?) {
        deadline = milliseconds
        // timerfd_settime(2) disarms a timer that is set to 0.
        let moment = max(1, milliseconds ?? Self.farAwayMilliseconds)
        var time = itimerspec()
        time.it_value.tv_sec = Int(moment / 1000)
        time.it_value.tv_nsec = Int(moment % 1000 * 1_000_000)
        let flags = Int32(TFD_TIMER_ABSTIME) | Int32(TFD_TIMER_CANCEL_ON_SET)
        let result = systemCall("timerfd_settime") {
            unsafe Int(timerfd_settime(descriptor.number, flags, &time, nil))
        }
        // ECANCELED means that the clock was set before; the timer is armed nevertheless.
        if case .failed(let error) = result, error.number == ECANCELED { wasCancelled() }
    }

    package func ready(_ readiness: Readiness) {
        var expirations: UInt64 = 0
        take(systemCall("read") { unsafe read(descriptor.number, &expirations, 8) })
    }

    /// Handles the result of reading the timerfd.
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

    package func loopStopped() {}

    private func wasCancelled() {
        let (before, now) = (offset, Self.readOffset())
        offset = now
        arm(atWallMilliseconds: deadline)
        // The difference is rounded, because the two clocks cannot be read at the same moment.
        clockChanged((now - before + (now >= before ? 500_000 : -500_000)) / 1_000_000)
    }

    private static func readOffset() -> Int64 { EventLoop.wallOffsetNanoseconds }
}

extension EventLoop {
    /// Wall-clock time minus boot time (which includes suspension), in nanoseconds: it changes only when the clock is
    /// set.
    public static var wallOffsetNanoseconds: Int64 {
        Int64(read(CLOCK_REALTIME)) - Int64(read(CLOCK_BOOTTIME))
    }

    /// Makes a timer for wall-clock time, which is not armed yet.
    ///
    /// - Parameters:
    ///   - ring: called when the moment has come.
    ///   - clockChanged: called when the clock was set, with the milliseconds by which it is ahead of what it would
    ///     show otherwise; 0 if the machine was suspended and the clock is right.
    public func makeWallTimer(
        ring: @escaping () -> Void, clockChanged: @escaping (_ milliseconds: Int64) -> Void
    ) throws(TransportError) -> WallTimer {
        do {
            let timer = try WallTimer(ring: ring, clockChanged: clockChanged)
            try watch(timer.number, readableFor: timer)
            return timer
        } catch {
            throw TransportError("Cannot make an alarm clock: \(error.text).")
        }
    }
}
