import PostriderTransport

/// The clock of a worker, and its counters and latencies by phase and by second.
final class WorkerMeter {
    /// The start of the run, in nanoseconds of the monotonic clock.
    let epoch: UInt64
    /// The monotonic clock in nanoseconds, as it was read last.
    private(set) var clock: UInt64
    /// Counters since the worker started.
    var tally = LoadTally()
    /// Results by phase.
    private(set) var records: [PhaseRecord]
    /// The phase that measurements count for, by its index in the plan.
    private(set) var phase = 0
    private var phaseStart: (clock: UInt64, tally: LoadTally)
    private var slice = WorkerSlice()
    private var sliceStart: (clock: UInt64, tally: LoadTally)

    init(epoch: UInt64, phases: Int) {
        self.epoch = epoch
        clock = EventLoop.monotonicNanoseconds
        records = [PhaseRecord](repeating: PhaseRecord(), count: max(1, phases))
        phaseStart = (clock, LoadTally())
        sliceStart = (clock, LoadTally())
    }

    /// Reads the clock: once for everything that arrives together.
    func readClock() { clock = EventLoop.monotonicNanoseconds }

    /// The clock in nanoseconds since the run's start.
    var sinceStart: UInt64 { clock - epoch }

    /// A push was accepted that was due at `moment`, in nanoseconds since the run's start.
    func measureAcceptance(since moment: UInt64) {
        let latency = sinceStart - min(moment, sinceStart)
        records[phase].acceptance.record(latency)
        slice.acceptance.record(latency)
    }

    /// A push arrived at its device.
    func measureDelivery(of mark: PushMark) {
        let latency = mark.age(at: sinceStart)
        records[phase].delivery.record(latency)
        slice.delivery.record(latency)
    }

    /// Measurements count for another phase from here on.
    func enter(_ phase: Int) {
        closePhase()
        self.phase = phase
    }

    /// Adds to the phase's record what was counted since the phase began.
    func closePhase() {
        readClock()
        records[phase].tally.add(tally.since(phaseStart.tally))
        records[phase].nanoseconds += clock - phaseStart.clock
        phaseStart = (clock, tally)
    }

    /// Returns what was measured since the last slice, and begins a new slice.
    /// - Parameter isLast: whether the next slice belongs to another phase.
    func takeSlice(isLast: Bool) -> WorkerSlice {
        readClock()
        var taken = slice
        taken.tally = tally.since(sliceStart.tally)
        taken.nanoseconds = clock - sliceStart.clock
        (taken.phase, taken.isLast) = (phase, isLast)
        slice.acceptance.removeAll()
        slice.delivery.removeAll()
        sliceStart = (clock, tally)
        return taken
    }
}
