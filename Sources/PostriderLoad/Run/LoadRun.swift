import FoundationEssentials
import PostriderNotifications
import PostriderTransport

/// Why a load run could not be made, in one sentence.
public struct LoadFailure: Error, Equatable, CustomStringConvertible {
    /// What was wrong, and what to do.
    public let description: String

    /// A failure with this description. Where it ends with the description of another error, which has a full stop of
    /// its own, one full stop is kept.
    public init(_ description: String) {
        let stops = description.reversed().prefix { $0 == "." }.count
        self.description = description.dropLast(stops) + "."
    }
}

/// The progress of a run, for its watcher.
public struct LoadProgress: Sendable, Equatable {
    /// The current phase.
    public var phase: String
    /// Seconds since the run began.
    public var seconds: Double
    /// Devices that are connected and registered.
    public var ready: Int
    /// Pushes accepted in the last second.
    public var accepted: Double
    /// Pushes and broadcasts that arrived in the last second.
    public var delivered: Double
    /// Pushes refused since the run began.
    public var refused: UInt64
    /// Pushes that were accepted and have not arrived yet.
    public var missing: Int
    /// Median latency of the last second, in microseconds; nil if nothing arrived.
    public var p50: Double?
    /// 99th percentile of it.
    public var p99: Double?
}

/// Carries out a plan on a target: it gives the workers their orders, waits for their reports, reads the server's
/// process in between, and assembles the result.
public final class LoadRun {
    let plan: LoadPlan
    let target: LoadTarget
    private let processors: [Int]
    private let watch: (LoadProgress) -> Void

    private var pool = WorkerPool()
    private var reports: AsyncStream<WorkerReport>.Iterator
    private let continuation: AsyncStream<WorkerReport>.Continuation
    private let epoch = EventLoop.monotonicNanoseconds
    let counts: [(devices: Int, providers: Int)]
    /// By worker: how many of its devices shall be connected.
    var wanted: [Int]

    /// How long the server may take to answer.
    var answerMilliseconds = 30_000
    /// How long devices may take to be ready: long enough for a slow relay, short enough for one that accepts none. If
    /// devices connect at a limited rate, twice the time that the rate takes.
    lazy var patienceMilliseconds =
        60_000 + plan.fleet.devices * max(20, 2000 / (plan.fleet.connectionsPerSecond ?? 100))

    var meter: PhaseMeter
    private var timeline: LoadTimeline
    /// Broadcasts that had to arrive and did not, counted at the end of each step.
    var lostBroadcasts = 0

    /// - Parameters:
    ///   - processors: the workers are pinned to these in turn; to none if empty.
    ///   - watch: is told the progress about once a second.
    public init(
        _ plan: LoadPlan, on target: LoadTarget, processors: [Int] = [],
        watch: @escaping (LoadProgress) -> Void = { _ in }
    ) {
        self.plan = plan
        self.target = target
        self.processors = processors
        self.watch = watch
        meter = PhaseMeter(server: target.process)
        let threads = plan.fleet.threads
        let devices = target.devices == nil ? 0 : plan.fleet.devices
        counts = (0..<threads).map { worker in
            (
                Self.part(of: devices, for: worker, of: threads),
                Self.part(of: plan.fleet.providers, for: worker, of: threads)
            )
        }
        wanted = [Int](repeating: 0, count: threads)
        timeline = LoadTimeline(workers: threads)
        let (stream, continuation) = AsyncStream<WorkerReport>.makeStream()
        reports = stream.makeAsyncIterator()
        self.continuation = continuation
    }

    /// A worker's part of a whole. The parts differ by at most one.
    static func part(of whole: Int, for worker: Int, of workers: Int) -> Int {
        whole * (worker + 1) / workers - whole * worker / workers
    }

    /// Carries out the plan.
    public func run() async throws -> LoadResult {
        let startedAt = Int64(Date().timeIntervalSince1970 * 1000)
        meter.runBegins()
        try startWorkers()
        do {
            try await wait(milliseconds: 20_000, orFail: "the workers did not begin") { $0.isComplete }
            for step in plan.steps {
                if step.action.isPush { try await waitForProviders() }
                if let phase = step.phase, phase != meter.phase { enter(phase) }
                try await carryOut(step.action)
            }
            // If no provider could connect, the server would have accepted nothing, and the run would report that
            // nothing was lost.
            if plan.steps.contains(where: \.action.isPush) { try await waitForProviders() }
            leavePhase()
            order { _ in .conclude }
            try await wait(milliseconds: 60_000, orFail: "the workers did not conclude") { _ in
                pool.haveConcluded
            }
        } catch {
            if pool.conclusions.isEmpty { order { _ in .conclude } }
            throw error
        }
        return result(startedAt: startedAt)
    }

    private func startWorkers() throws {
        let mark = UInt16.random(in: 0..<4096)
        for (index, share) in counts.enumerated() {
            let setup = WorkerSetup(
                index: index, fleet: plan.fleet, devices: share.devices, providers: share.providers,
                target: target,
                phases: plan.phases.count, seed: plan.seed, epoch: epoch,
                mark: (mark &+ UInt16(index)) & 0x0FFF,
                processor: processors.isEmpty ? nil : processors[index % processors.count],
                report: { [continuation] in continuation.yield($0) })
            pool.add(try Worker.start(setup))
        }
    }

    // MARK: Orders and reports

    /// Gives each worker an order, by its number; nil for no order.
    func order(_ make: (Int) -> WorkerCommand?) { pool.order(make) }

    /// The last reports of all workers, added up.
    var together: PhaseTotals { pool.together }

    /// Waits until every worker has carried out its orders and `isDone` holds. Returns false after the timeout.
    func wait(milliseconds: Int, until isDone: (PhaseTotals) -> Bool) async throws -> Bool {
        let deadline = EventLoop.monotonicNanoseconds + UInt64(milliseconds) * 1_000_000
        repeat {
            let together = self.together
            if together.isComplete, isDone(together) { return true }
            if pool.haveConcluded { return isDone(together) }
            guard EventLoop.monotonicNanoseconds < deadline, let report = await reports.next() else {
                return false
            }
            try take(report)
        } while true
    }

    /// The same; throws after the timeout.
    func wait(
        milliseconds: Int, orFail sentence: @autoclosure () -> String, until isDone: (PhaseTotals) -> Bool
    ) async throws {
        guard try await wait(milliseconds: milliseconds, until: isDone) else { throw earlyEnd(sentence()) }
    }

    /// Makes the failure for a run that cannot go on. It names the most frequent cause.
    func earlyEnd(_ sentence: String) -> LoadFailure {
        let reasons = together.tally.failures.merging(together.tally.lostLinks, uniquingKeysWith: +)
        let worst = reasons.max { $0.value < $1.value }.map { "; mostly: \($0.key)" } ?? ""
        return LoadFailure("The run ended early: \(sentence)\(worst)")
    }

    private func take(_ report: WorkerReport) throws {
        switch report {
        case .failed(let sentence): throw LoadFailure(sentence)
        case .concluded(let conclusion): pool.conclusions.append(conclusion)
        case .progress(let progress):
            pool.latest[progress.worker] = progress
            guard let slice = progress.slice else { return }
            let seconds = Double(EventLoop.monotonicNanoseconds - epoch) / 1e9
            // A slice that arrives now may belong to the phase before. Devices of a worker that has not carried out its
            // last order do not count as ready.
            let phase = plan.phases.indices.contains(slice.phase) ? plan.phases[slice.phase] : ""
            guard
                let second = timeline.add(
                    slice, of: progress.worker, at: seconds, phase: phase, residentKiB: meter.residentKiB),
                case let together = self.together, together.isComplete
            else { return }
            watch(
                LoadProgress(
                    phase: phase, seconds: seconds, ready: together.ready, accepted: second.accepted,
                    delivered: second.delivered, refused: together.tally.refusedCount,
                    missing: together.missing,
                    p50: second.deliveryP50 ?? second.acceptanceP50,
                    p99: second.deliveryP99 ?? second.acceptanceP99))
        }
    }

    private func enter(_ name: String) {
        leavePhase()
        meter.enter(name)
        let index = plan.phases.firstIndex(of: name) ?? 0
        order { _ in .enter(phase: index) }
    }

    private func leavePhase() {
        let together = self.together
        meter.leave(backlog: together.backlog, connections: together.ready + plan.fleet.providers)
    }

    // MARK: The result

    private func result(startedAt: Int64) -> LoadResult {
        let machine = LoadResult.Machine.current
        // Each worker with devices has a connector's thread too.
        let threads = plan.fleet.threads * (target.devices == nil ? 1 : 2)
        let usableProcessors = processors.isEmpty ? machine.cores : Set(processors).count
        var records = [PhaseRecord](repeating: PhaseRecord(), count: plan.phases.count)
        var total = LoadTally()
        for conclusion in pool.conclusions {
            for index in records.indices { records[index].add(conclusion.records[index]) }
            total.add(conclusion.total)
        }
        let phases = zip(plan.phases, records).map { name, record in
            let end = meter.ends[name] ?? PhaseEnd()
            var record = record
            record.nanoseconds -= min(record.nanoseconds, end.vainNanoseconds)
            return LoadResult.Phase(
                name: name, record, backlog: end.backlog, server: end.server,
                ownCPUSeconds: end.ownCPUSeconds, stolenSeconds: end.stolenSeconds)
        }
        let lost = pool.conclusions.reduce(0) { $0 + $1.lost }
        let identities = pool.conclusions.flatMap(\.lostIdentities).prefix(10).map(\.description)
        let verdict = LoadResult.Verdict(
            lost: lost + lostBroadcasts, doubled: total.doubled, repeated: total.repeated,
            strayed: total.strayed,
            altered: total.altered, excused: pool.conclusions.reduce(0) { $0 + $1.excused },
            unansweredArrivals: pool.conclusions.reduce(0) { $0 + $1.unansweredArrivals },
            others: total.others > 0 ? total.others : nil,
            lostIdentities: Array(identities))
        return LoadResult(
            scenario: plan.name, startedAt: startedAt, machine: machine,
            devices: target.devices == nil ? target.tokens.count : plan.fleet.devices,
            apps: target.topics.count, providers: plan.fleet.providers, streams: plan.fleet.streams,
            threads: plan.fleet.threads, processors: min(threads, usableProcessors),
            mainPhase: plan.mainPhase, phases: phases, verdict: verdict,
            timeline: timeline.seconds, leakKiBPerMinute: timeline.growth(in: plan.mainPhase))
    }
}
