import PostriderNotifications
import PostriderSeededRandom
import PostriderSystem
import PostriderTransport

/// One part of the fleet: a thread with its event loop, some of the providers and some of the devices. Its providers
/// push only to its own devices, so workers share nothing, and one clock measures both ends of a push.
final class Worker {
    private static let tickMilliseconds = 50
    private static let ticksPerSecond = 1000 / tickMilliseconds
    private static let secondsBetweenTokens = 60

    private let setup: WorkerSetup
    private let loop: EventLoop
    private let meter: WorkerMeter
    private let outcomes: PushOutcomes
    private let fleet: DeviceFleet
    private let providers: ProviderPool
    private var traffic: PushTraffic?
    private var ticker: (any LoopTimer)?
    private var ticks = 0
    /// How many orders it has carried out.
    private var obeyed = 0

    init(_ setup: WorkerSetup, on loop: EventLoop) throws(TransportError) {
        self.setup = setup
        self.loop = loop
        // Each generator gets a seed from another one, so that the sequences of two workers have nothing in common.
        var seeds = SplitMix64(seed: setup.seed &+ UInt64(setup.index))
        let (trafficSeed, fleetSeed) = (seeds.next(), seeds.next())
        let failure = FailureReport(setup.report)
        meter = WorkerMeter(epoch: setup.epoch, phases: setup.phases)
        outcomes = PushOutcomes(
            meter, run: setup.mark, takesOthers: setup.target.devices?.tags.isEmpty == false)
        fleet = try DeviceFleet(setup, on: loop, meter, outcomes, failure, seed: fleetSeed)
        providers = ProviderPool(setup, on: loop, meter, outcomes, failure)
        traffic = try PushTraffic(
            setup, on: loop, meter, outcomes, fleet, providers, seed: trafficSeed,
            becameIdle: { [unowned self] in report() })
        loop.turnEnded = { [unowned self] in if outcomes.mayPush { traffic?.pump() } }
        ticker = loop.makeTimer { [unowned self] in tick() }
        ticker?.arm(afterMilliseconds: Self.tickMilliseconds)
    }

    /// Starts a worker on a thread of its own, and returns the mailbox for its orders.
    static func start(_ setup: WorkerSetup) throws(TransportError) -> Mailbox<WorkerCommand> {
        let mailbox = try Mailbox<WorkerCommand>(capacity: 1024)
        _ = try Thread.spawn(name: "load-\(setup.index)", processor: setup.processor) {
            do throws(TransportError) {
                let loop = try EventLoop()
                let worker = try Worker(setup, on: loop)
                // Only now, because the connector's thread, which the worker has started before, would inherit it.
                Thread.takeShortSlices()
                try loop.attach(mailbox) { [unowned worker] orders in
                    for order in orders { worker.obey(order) }
                }
                worker.providers.connect()
                loop.run()
                withExtendedLifetime(worker) {}
            } catch {
                setup.report(.failed(error.description))
            }
        }
        return mailbox
    }

    private func tick() {
        ticks += 1
        ticker?.arm(afterMilliseconds: Self.tickMilliseconds)
        let (second, part) = ticks.quotientAndRemainder(dividingBy: Self.ticksPerSecond)
        fleet.ping(part: part, of: Self.ticksPerSecond, second: second)
        if part == 0, second % Self.secondsBetweenTokens == 0 {
            traffic?.authorize(at: Moment(milliseconds: loop.wallMilliseconds))
        }
        fleet.excusePushes()
        report(part == 0 ? meter.takeSlice(isLast: false) : nil)
    }

    private func obey(_ order: WorkerCommand) {
        switch order {
        case .enter(let phase): enter(phase)
        case .connect(let count): fleet.connect(count)
        case .disconnect(let count, let isOrderly): fleet.disconnect(count, isOrderly: isOrderly)
        case .storm(let count): return fleet.storm(count) { [unowned self] in obeyed += 1 }
        case .start(let order): traffic?.start(order)
        case .stop: traffic?.stop()
        case .subscribe(let channel): fleet.subscribe(to: channel)
        case .broadcast(let channel, let count, let perSecond, let payload):
            traffic?.broadcast(channel, count, perSecond, payload)
        case .conclude: conclude()
        }
        obeyed += 1
        // The run waits for this report, and the measured time ends with it.
        report()
    }

    private func enter(_ phase: Int) {
        // A slice belongs to one phase.
        if phase != meter.phase { report(meter.takeSlice(isLast: true)) }
        meter.enter(phase)
        traffic?.enterPhase()
    }

    private func conclude() {
        meter.closePhase()
        fleet.excusePushes()
        report(meter.takeSlice(isLast: true))
        let tracker = outcomes.tracker
        let lost = tracker.lost(naming: 10)
        let identities = lost.first.map {
            PushMark(moment: $0.moment, run: setup.mark, device: $0.device, number: $0.number).identity
        }
        setup.report(
            .concluded(
                WorkerConclusion(
                    records: meter.records, total: meter.tally, lost: lost.count,
                    excused: tracker.excusedCount, unansweredArrivals: tracker.unansweredArrivals,
                    lostIdentities: identities)))
        fleet.end()
        loop.stop()
    }

    /// Reports the worker's progress.
    /// - Parameter slice: what it has measured since the last slice.
    private func report(_ slice: WorkerSlice? = nil) {
        meter.readClock()
        setup.report(
            .progress(
                WorkerProgress(
                    worker: setup.index, obeyed: obeyed, ready: fleet.census.ready,
                    subscribed: fleet.census.subscribed, open: outcomes.tracker.open,
                    missing: outcomes.tracker.missingCount, isPushing: traffic?.order != nil,
                    hasCountLeft: traffic?.order?.remaining != nil, broadcastsLeft: outcomes.broadcastsLeft,
                    hasProvider: providers.isConnected, backlog: traffic?.backlog ?? 0, tally: meter.tally,
                    slice: slice)))
    }
}
