/// The run, second by second: adds up what the workers report for the same second.
struct LoadTimeline {
    private(set) var seconds: [LoadResult.Second] = []
    /// By worker: its slices for seconds that other workers have not reported yet. All slices of one worker belong to
    /// one phase.
    private var slices: [[WorkerSlice]]

    /// A timeline for this many workers.
    init(workers: Int) { slices = [[WorkerSlice]](repeating: [], count: workers) }

    /// Takes what a worker did in a second. Returns the second once all workers have reported it.
    mutating func add(
        _ slice: WorkerSlice, of worker: Int, at seconds: Double, phase: String,
        residentKiB: @autoclosure () -> Int?
    ) -> LoadResult.Second? {
        if let before = slices[worker].last, !before.isLast {
            slices[worker][slices[worker].count - 1].add(slice)
        } else {
            slices[worker].append(slice)
        }
        let told = slices.compactMap(\.first)
        // When one worker has left a phase, the others do too: what they still report of it is added to this second.
        guard told.count == slices.count, told.allSatisfy({ $0.isLast == told[0].isLast }) else { return nil }
        for worker in slices.indices { slices[worker].removeFirst() }
        // The workers' seconds are not of exactly the same length.
        func rate(_ count: (LoadTally) -> UInt64) -> Double {
            told.reduce(0) { $0 + Double(count($1.tally)) / max(Double($1.nanoseconds) / 1e9, 0.001) }
        }
        var (acceptance, delivery) = (LatencyHistogram(), LatencyHistogram())
        for slice in told {
            acceptance.add(slice.acceptance)
            delivery.add(slice.delivery)
        }
        func at(_ histogram: LatencyHistogram, _ quantile: Double) -> Double? {
            histogram.count == 0 ? nil : Double(histogram.value(atQuantile: quantile)) / 1000
        }
        let second = LoadResult.Second(
            at: (seconds * 10).rounded() / 10, phase: phase,
            seconds: told.reduce(0) { $0 + Double($1.nanoseconds) / 1e9 } / Double(told.count),
            accepted: rate { $0.accepted + $0.broadcasts },
            delivered: rate { $0.delivered + $0.broadcastsDelivered },
            refused: rate(\.refusedCount), connections: rate(\.connections),
            acceptanceP50: at(acceptance, 0.5), acceptanceP99: at(acceptance, 0.99),
            deliveryP50: at(delivery, 0.5), deliveryP99: at(delivery, 0.99),
            serverRSSKiB: residentKiB())
        self.seconds.append(second)
        return second
    }

    /// How fast the server's resident memory grew in the second half of a phase, in KiB a minute: the slope of the
    /// regression line. Nil if there are fewer than 10 seconds.
    func growth(in phase: String) -> Double? {
        let points = seconds.filter { $0.phase == phase }.compactMap { second in
            second.serverRSSKiB.map { (x: second.at, y: Double($0)) }
        }
        let late = points.suffix(points.count / 2)
        guard late.count >= 10 else { return nil }
        let count = Double(late.count)
        let meanX = late.reduce(0) { $0 + $1.x } / count
        let meanY = late.reduce(0) { $0 + $1.y } / count
        let above = late.reduce(0) { $0 + ($1.x - meanX) * ($1.y - meanY) }
        let below = late.reduce(0) { $0 + ($1.x - meanX) * ($1.x - meanX) }
        return below == 0 ? nil : above / below * 60
    }
}
