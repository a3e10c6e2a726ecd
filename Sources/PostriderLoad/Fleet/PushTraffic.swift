import PostriderNotifications
import PostriderSeededRandom
import PostriderTransport

/// Pushes that a worker was told to make.
struct PushCommand {
    /// What decides when the next push is sent.
    enum Pace {
        case inFlight(Int)
        case schedule(PushSchedule)
    }

    var pace: Pace
    /// How many are left to make; nil if there is no end.
    var remaining: Int?
    let isStored: Bool
    let isAwaited: Bool
    let payload: [UInt8]

    private static let slackNanoseconds: UInt64 = 10_000_000

    init(_ order: LoadPlan.Traffic, from clock: UInt64) {
        pace =
            switch order.pace {
            case .inFlight(let count): .inFlight(count)
            case .perSecond(let rate): .schedule(PushSchedule(start: clock, perSecond: rate))
            }
        remaining = order.count
        isStored = order.isStored
        isAwaited = order.isAwaited
        payload = PushOutcomes.makePayload(bytes: order.payloadBytes)
    }

    /// How many pushes have been due for some milliseconds and have not been sent.
    func backlog(at now: UInt64) -> UInt64 {
        guard case .schedule(let schedule) = pace else { return 0 }
        let due = schedule.due(by: now - min(now, Self.slackNanoseconds))
        return min(due > schedule.taken ? due - schedule.taken : 0, remaining.map { UInt64($0) } ?? .max)
    }
}

/// Broadcasts that a worker was told to make.
struct BroadcastCommand {
    let channel: ChannelIdentity
    var schedule: PushSchedule
    var remaining: Int
    let payload: [UInt8]
}

/// Sends the pushes and broadcasts of a worker when they are due, or as fast as they are answered.
final class PushTraffic {
    private let run: UInt16
    private let meter: WorkerMeter
    private let outcomes: PushOutcomes
    private let fleet: DeviceFleet
    private let providers: ProviderPool
    private var chance: SplitMix64
    private var heads: RequestHeads
    private(set) var order: PushCommand?
    private var broadcast: BroadcastCommand?
    /// Pushes of this phase that were due and not sent when pushing was stopped.
    private var leftBehind: UInt64 = 0
    /// Whether pushes were being made or waited for answers when that was last checked.
    private var wasBusy = false
    private var pacer: PreciseTimer?
    /// Called when pushing has stopped and the last push is answered.
    private let becameIdle: () -> Void

    init(
        _ setup: WorkerSetup, on loop: EventLoop, _ meter: WorkerMeter, _ outcomes: PushOutcomes,
        _ fleet: DeviceFleet, _ providers: ProviderPool, seed: UInt64, becameIdle: @escaping () -> Void
    ) throws(TransportError) {
        (run, self.meter, self.outcomes, self.fleet) = (setup.mark, meter, outcomes, fleet)
        (self.providers, self.becameIdle) = (providers, becameIdle)
        chance = SplitMix64(seed: seed)
        heads = RequestHeads(
            setup.target, tokenDigits: fleet.addressees.tokenDigits,
            at: Moment(milliseconds: loop.wallMilliseconds))
        pacer = try loop.makePreciseTimer { [unowned self] in pump() }
    }

    // MARK: Orders

    /// Begins to push.
    func start(_ order: LoadPlan.Traffic) {
        meter.readClock()
        let next = PushCommand(order, from: meter.clock)
        outcomes.payload = next.payload
        self.order = order.count == 0 ? nil : next
        outcomes.mayPush = true
    }

    /// Stops pushing.
    func stop() {
        meter.readClock()
        leftBehind += order?.backlog(at: meter.clock) ?? 0
        order = nil
        pacer?.arm(at: nil)
    }

    /// Begins to broadcast.
    func broadcast(_ channel: ChannelIdentity, _ count: Int, _ perSecond: Double, _ payload: [UInt8]) {
        meter.readClock()
        outcomes.payload = payload
        guard count > 0 else { return }
        outcomes.broadcastsLeft = count
        broadcast = BroadcastCommand(
            channel: channel, schedule: PushSchedule(start: meter.clock, perSecond: perSecond),
            remaining: count, payload: payload)
        outcomes.mayPush = true
    }

    /// Gives requests a new provider token if theirs is too old.
    func authorize(at now: Moment) { heads.authorize(at: now) }

    /// Another phase begins: pushes that were left behind belong to the phase before.
    func enterPhase() { leftBehind = 0 }

    /// Pushes of this phase that were due and have not been sent.
    var backlog: UInt64 { leftBehind + (order?.backlog(at: meter.clock) ?? 0) }

    // MARK: Pushes

    /// Sends the pushes that may be sent now.
    func pump() {
        outcomes.mayPush = false
        meter.readClock()
        if broadcast != nil { pumpBroadcasts() }
        while order != nil, !fleet.reachable.isEmpty, let line = providers.lineWithRoom() {
            guard let moment = takeMoment() else { break }
            push(at: moment, over: line)
        }
        armPacer()
        // The run is told at once. Were it told with the next tick, the phase would be measured up to that tick.
        let isBusy = order != nil || outcomes.tracker.open > 0
        if wasBusy, !isBusy { becameIdle() }
        wasBusy = isBusy
    }

    /// The moment of the next push, if it may be sent now.
    private func takeMoment() -> UInt64? {
        switch order?.pace {
        case .inFlight(let most): return outcomes.tracker.underWay < most ? meter.clock : nil
        case .schedule(var schedule):
            guard let moment = schedule.take(at: meter.clock) else { return nil }
            order?.pace = .schedule(schedule)
            return moment
        case nil: return nil
        }
    }

    private func push(at moment: UInt64, over line: FleetProviderConnection) {
        guard let order else { return }
        let apps = fleet.addressees.apps
        let choice = Int(chance.next().multipliedFullWidth(by: UInt64(fleet.reachable.count * apps)).high)
        let (device, app) = (fleet.reachable[choice / apps], choice % apps)
        let isWatched = order.isAwaited && !fleet.devices.isEmpty
        let number = outcomes.tracker.send(
            to: device, at: moment - meter.epoch,
            .init(
                isPresent: isWatched && fleet.devices[device].isReady, isStored: order.isStored,
                isWatched: isWatched))
        let mark = PushMark(moment: moment - meter.epoch, run: run, device: device, number: number)
        let digits = fleet.addressees.digits
        let head = heads.push(
            mark, app: app, isStored: order.isStored,
            token: digits.span.extracting(fleet.addressees.range(device: device, app: app)))
        meter.tally.sent += 1
        if !line.send(head, order.payload, .push(number)) { outcomes.unanswered(.push(number)) }
        if let remaining = order.remaining {
            self.order?.remaining = remaining - 1
            if remaining == 1 { self.order = nil }
        }
    }

    /// Sets the timer to the moment at which the next push is due. A push that is overdue waits for an answer to make
    /// room instead.
    private func armPacer() {
        var next = UInt64.max
        if case .schedule(let schedule) = order?.pace { next = min(next, schedule.next) }
        if let broadcast { next = min(next, broadcast.schedule.next) }
        if next > meter.clock, next < .max { pacer?.arm(at: next) }
    }

    /// Sends all broadcasts over one connection, so that they arrive in the order in which they are sent and one that
    /// arrives out of order must be a copy.
    private func pumpBroadcasts() {
        while var sending = broadcast, let line = providers.first, line.hasRoom,
            let moment = sending.schedule.take(at: meter.clock)
        {
            let mark = PushMark(
                moment: moment - meter.epoch, run: run, device: PushMark.everybody, number: meter.tally.sent)
            meter.tally.sent += 1
            sending.remaining -= 1
            broadcast = sending.remaining > 0 ? sending : nil
            let head = heads.broadcast(mark, channel: sending.channel)
            let exchange = FleetProviderConnection.Exchange.broadcast(moment - meter.epoch)
            if !line.send(head, sending.payload, exchange) { outcomes.unanswered(exchange) }
        }
    }
}
