/// What a worker measures, by phases and by seconds.
extension Worker {
    /// A push was accepted that had to be by `moment`, on the run's clock.
    func measureAcceptance(since moment: UInt64) {
        let latency = sinceStart - min(moment, sinceStart)
        records[phase].acceptance.record(latency)
        slice.acceptance.record(latency)
    }

    /// A push arrived.
    func measureDelivery(of mark: PushMark) {
        let latency = mark.age(at: sinceStart)
        records[phase].delivery.record(latency)
        slice.delivery.record(latency)
    }

    func enter(_ phase: Int) {
        closePhase()
        // A second belongs to one phase.
        if phase != self.phase { endSlice(isLast: true) }
        self.phase = phase
        leftBehind = 0
    }

    func closePhase() {
        readClock()
        records[phase].tally.add(tally.since(phaseStart.tally))
        records[phase].nanoseconds += clock - phaseStart.clock
        phaseStart = (clock, tally)
    }

    /// Says what has happened since it last did so.
    /// - Parameter isLast: whether the next slice is of another phase.
    func endSlice(isLast: Bool = false) {
        readClock()
        slice.tally = tally.since(sliceStart.tally)
        slice.nanoseconds = clock - sliceStart.clock
        (slice.phase, slice.isLast) = (phase, isLast)
        report(slice)
        slice.acceptance.removeAll()
        slice.delivery.removeAll()
        sliceStart = (clock, tally)
    }

    /// Says how far it is.
    func report(_ slice: LaneSlice? = nil) {
        readClock()
        setup.report(
            .progress(
                LaneProgress(
                    worker: setup.index, obeyed: obeyed, ready: readyCount, subscribed: subscribedCount,
                    open: book.open,
                    missing: book.missingCount, isPushing: traffic != nil,
                    hasCountLeft: traffic?.remaining != nil, broadcastsLeft: broadcastsLeft,
                    hasProvider: providers.contains { $0.wire != nil },
                    backlog: leftBehind + (traffic?.backlog(at: clock) ?? 0), tally: tally, slice: slice)))
    }
}
