import PostriderClients
import PostriderCourier
import PostriderCrypto
import PostriderHTTP2
import PostriderNotifications
import PostriderSeededRandom
import PostriderTransport

/// What a worker is told to do. Counts are of this worker's devices and pushes.
enum LaneOrder: Sendable {
    /// What is measured from here on belongs to this phase, by its place in the plan.
    case enter(phase: Int)
    /// So many devices are to be connected, the first ones.
    case connect(Int)
    /// So many devices are to leave, the last ones of those that are there.
    case disconnect(Int, isOrderly: Bool)
    /// So many devices lose their links and come back.
    case storm(Int)
    /// Push.
    case start(LoadPlan.Traffic)
    /// Push no more.
    case stop
    /// All devices that are there subscribe to a channel of the first app.
    case subscribe(ChannelIdentity)
    /// Broadcast.
    case broadcast(ChannelIdentity, count: Int, perSecond: Double, payload: [UInt8])
    /// Say what came of it all, and end.
    case conclude
}

/// One part of the fleet: a thread and its loop, with some of the providers and some of the devices. Its providers push
/// to its own devices, so that nothing is shared with other workers, and both ends of a push are measured by one clock.
final class Worker {
    /// What a worker needs to begin.
    struct Setup: Sendable {
        let index: Int
        let fleet: LoadPlan.Fleet
        let devices: Int
        let providers: Int
        let target: LoadTarget
        let phases: Int
        let seed: UInt64
        /// Moments are counted from here, on the monotonic clock.
        let epoch: UInt64
        let mark: UInt16
        /// The only processor that its threads may run on; nil: any.
        let processor: Int?
        let report: @Sendable (LaneReport) -> Void
    }

    let setup: Setup
    let loop: EventLoop
    let topics: [Topic]
    let enrolmentKey: String
    let deviceAuthority: String
    /// Connects the devices.
    let greeter: Mailbox<Connector.Order>?
    /// The monotonic clock, as it was when it was read last.
    private(set) var clock: UInt64
    private var chance: SplitMix64

    var tally = LoadTally()
    var book = PushTracker()
    var addressees: Addressees
    /// For messages on their way out.
    var frame: [UInt8] = []
    var subscribedCount = 0
    var isFailed = false

    var devices: [FleetDevice] = []
    /// Whom pushes can go to: the devices whose tokens are known, or everybody where there are only tokens.
    var known: [Int]
    var readyCount = 0
    /// Whether links have ended since pushes were excused for it.
    var haveLinksEnded = false
    /// Whether a device has ever had a connection.
    var hasReachedDevicePort = false

    var providers: [ProviderLine] = []
    var heads: RequestHeads
    private var signer: ProviderTokenMaker?
    var nextProvider = 0
    var payload: [UInt8] = []
    var traffic: LaneTraffic?
    /// Pushes of this phase that were due when they were told to end.
    var leftBehind: UInt64 = 0
    var broadcasting: LaneBroadcasting?
    /// Broadcasts that are still to be made or answered.
    var broadcastsLeft = 0
    /// Whether pushes were being made, or waited for their answers, when the worker last looked.
    var wasBusy = false
    /// Something has happened that may let the next push leave.
    var needsPump = false
    var pacer: PreciseTimer?
    var providerPause: (any LoopTimer)?
    private var lastToken: String?

    var records: [PhaseRecord]
    var phase = 0
    var phaseStart: (clock: UInt64, tally: LoadTally)
    var slice = LaneSlice()
    var sliceStart: (clock: UInt64, tally: LoadTally)
    private var ticker: (any LoopTimer)?
    private var ticks = 0
    /// Orders carried out.
    var obeyed = 0

    /// Devices that are still to be cut off, the next one last.
    var losing: [FleetDevice] = []
    var loser: (any LoopTimer)?

    private static let tickMilliseconds = 50
    private static let ticksPerSecond = 1000 / tickMilliseconds

    init(_ setup: Setup, on loop: EventLoop) throws(TransportError) {
        self.setup = setup
        self.loop = loop
        topics = setup.target.topics
        enrolmentKey = setup.target.devices?.enrolmentKey ?? ""
        deviceAuthority = setup.target.devices?.name ?? ""
        clock = EventLoop.monotonicNanoseconds
        // Sequences side by side are to have nothing in common: each begins at a number of another one.
        var seeds = SplitMix64(seed: setup.seed &+ UInt64(setup.index))
        chance = SplitMix64(seed: seeds.next())
        records = [PhaseRecord](repeating: PhaseRecord(), count: max(1, setup.phases))
        phaseStart = (clock, LoadTally())
        sliceStart = (clock, LoadTally())
        signer = setup.target.signer
        let digits = setup.target.devices == nil ? setup.target.tokens.first?.utf8.count ?? 0 : 64
        heads = RequestHeads(authority: setup.target.providerName, topics: topics, tokenDigits: digits)
        addressees = Addressees(
            devices: setup.target.devices == nil ? setup.target.tokens.count : setup.devices,
            apps: setup.target.devices == nil ? 1 : topics.count, tokenDigits: digits)
        for (index, token) in setup.target.tokens.enumerated() where setup.target.devices == nil {
            addressees.set(token.utf8.span, device: index, app: 0)
        }
        known = setup.target.devices == nil ? Array(setup.target.tokens.indices) : []
        if let port = setup.target.devices {
            // Each device waits for one greeting at most.
            let greetings = try Mailbox<Connector.Greeting>(capacity: setup.devices + 1)
            greeter = try Connector.start(setup, port, greetings: greetings)
            try loop.attach(greetings) { [unowned self] greetings in
                for greeting in greetings { devices[greeting.device].greeted(greeting.outcome) }
            }
        } else {
            greeter = nil
        }
        authorize()
        devices = (0..<(setup.target.devices == nil ? 0 : setup.devices)).map {
            FleetDevice(index: $0, of: self)
        }
        pacer = try loop.makePreciseTimer { [unowned self] in pump() }
        loop.turnEnded = { [unowned self] in if needsPump { pump() } }
        ticker = loop.makeTimer { [unowned self] in tick() }
        ticker?.arm(afterMilliseconds: Self.tickMilliseconds)
    }

    /// Starts a worker on a thread of its own, and answers where it takes its orders.
    static func start(_ setup: Setup) throws(TransportError) -> Mailbox<LaneOrder> {
        let mailbox = try Mailbox<LaneOrder>(capacity: 1024)
        _ = try Thread.spawn(name: "load-\(setup.index)", processor: setup.processor) {
            do throws(TransportError) {
                let loop = try EventLoop()
                let worker = try Worker(setup, on: loop)
                // Not before: the greeter's thread, which the worker has started, would have got it from this one.
                Thread.takeShortSlices()
                try loop.attach(mailbox) { [unowned worker] orders in
                    for order in orders { worker.obey(order) }
                }
                worker.connectProviders()
                loop.run()
                withExtendedLifetime(worker) {}
            } catch {
                setup.report(.failed(error.description))
            }
        }
        return mailbox
    }

    /// Reads the clock: once for whatever arrives together.
    func readClock() { clock = EventLoop.monotonicNanoseconds }

    /// The clock, counted from the run's start.
    var sinceStart: UInt64 { clock - setup.epoch }

    /// 64 random bits, the same in every run with this seed.
    func random() -> UInt64 { chance.next() }

    /// The run cannot go on.
    func fail(_ sentence: String) {
        guard !isFailed else { return }
        isFailed = true
        setup.report(.failed(sentence))
    }

    // MARK: Moments

    private func tick() {
        ticks += 1
        ticker?.arm(afterMilliseconds: Self.tickMilliseconds)
        // Each device has its moment of the second: all at once would hold up what is measured for milliseconds.
        let (second, part) = ticks.quotientAndRemainder(dividingBy: Self.ticksPerSecond)
        let first = part * devices.count / Self.ticksPerSecond
        let next = (part + 1) * devices.count / Self.ticksPerSecond
        for device in devices[first..<next] { device.ping(second: second) }
        if part == 0, second % 60 == 0 { authorize() }
        excuse()
        if part == 0 { endSlice() } else { report() }
    }

    private func authorize() {
        let token = signer?.token(at: Moment(milliseconds: loop.wallMilliseconds))
        guard token != lastToken || lastToken == nil else { return }
        lastToken = token
        heads.authorize(token)
    }

    // MARK: Orders

    private func obey(_ order: LaneOrder) {
        switch order {
        case .enter(let phase): enter(phase)
        case .connect(let count): for device in devices.prefix(count) { device.come() }
        case .disconnect(let count, let isOrderly):
            for device in devices.filter(\.isWanted).suffix(count) { device.leave(isOrderly: isOrderly) }
        case .storm(let count):
            return cut(devices.filter(\.isWanted).prefix(count))
        case .start(let traffic): start(traffic)
        case .stop: stopTraffic()
        case .subscribe(let channel):
            subscribedCount = 0
            for device in devices where device.isReady { device.subscribe(to: channel, of: topics[0]) }
        case .broadcast(let channel, let count, let perSecond, let payload):
            startBroadcasting(channel, count, perSecond, payload)
        case .conclude: conclude()
        }
        obeyed += 1
        // Who gave it waits for that, and what is measured ends with it.
        report()
    }

    private func conclude() {
        closePhase()
        excuse()
        endSlice(isLast: true)
        let lost = book.lost(naming: 10)
        let identities = lost.first.map {
            PushMark(moment: $0.moment, run: setup.mark, device: $0.device, number: $0.number).identity
        }
        setup.report(
            .concluded(
                LaneConclusion(
                    records: records, total: tally, lost: lost.count, excused: book.excusedCount,
                    unansweredArrivals: book.unansweredArrivals, lostIdentities: identities)))
        greeter?.postEvenIfFull(.end)
        loop.stop()
    }
}
