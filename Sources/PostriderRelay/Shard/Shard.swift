import PostriderCourier
import PostriderHTTP2
import PostriderNotifications
import PostriderTransport

/// One event loop's share of the relay: the connections that it accepted, and the devices whose home it is.
///
/// Confined to its thread. Shards share nothing and write each other letters; a device's presence, queue,
/// collapse slots and acknowledgements are written by its home alone.
final class Shard {
    let index: Int
    let scheduler: any Scheduler
    let outbox: Outbox
    let rows: RowSequence
    let seal: DeviceTokenCodec
    let topics = TopicCache()
    let random: any RandomSource
    let tokens = ProviderTokens()
    let log: Log
    /// How closely the relay keeps to Apple.
    let fidelity: APNsCompatibility
    /// Whose code carries HTTP/2.
    let protocolCode: ProtocolCode
    /// What holds for every device, once those that are there have had the time to come back.
    let deviceRules: DeviceRules
    /// Whether a token for the development environment would be good anywhere.
    let hasDevelopment: Bool
    /// How long a provider's connection may stay without a request.
    let providerIdleMilliseconds: Int
    var authority: AccessPolicy

    /// The devices whose home this is.
    var entries = DeviceTable()
    var tally = Tally()
    var channels = ShardChannels()
    /// Who is let in when many return at once.
    var throttle: ReconnectThrottle
    let enrolmentRefusals: EnrolmentRefusals
    /// Whether somebody was told that the counters do not balance.
    var hasRaisedAlarm = false
    var providers = SortedTable<UInt64, ProviderSession>()
    /// Connections of devices on this shard, welcomed or not.
    var devices: [UInt64: DeviceSession] = [:]
    var isDraining = false
    /// Whoever waits for the ledger to have changed the registry.
    var applications: [UInt64: (Result<Void, StoreError>) -> Void] = [:]
    /// Whoever waits for every shard's reply to a question.
    var inquiries: [UInt64: ShardQuery] = [:]
    /// Connections that have said hello this turn and whose home is another shard.
    var departures: [(session: DeviceSession, hello: Hello)] = []
    /// Devices that the registry does not know yet to have been seen.
    var sightings: [DeviceIdentity] = []
    /// Called when the drain is over: every push is answered and every connection closed.
    var onDrained: (() -> Void)?
    /// Ends the loop.
    var onStop: (() -> Void)?
    /// Where this shard listens.
    var listeners: [Listener] = []
    /// Takes connections of devices off this shard's loop and puts them onto it.
    let porter: ConnectionMigrator
    /// What this shard tells the trace.
    let trace: TraceRecorder

    /// Reused from one push to the next.
    private var requestPool: [PushRequest] = []
    var reply = HeaderBlock()
    var effects: [Device.Effect] = []
    private var ownLetters: [ShardMessage] = []
    private var lastNumber: UInt64 = 0
    private var sweepTimer: (any LoopTimer)?
    private var retryTimer: (any LoopTimer)?
    var drainTimer: (any LoopTimer)?
    private var clock: ClockWatch
    /// Whether the log was told of a doubtful clock.
    private var hasDoubted = false
    /// Until when, by the monotonic clock in nanoseconds, devices may not have come back since the start.
    private var returnsUntil: UInt64 = 0
    /// What waits for the acknowledgements of its devices before it goes to the ledger.
    var held = DeferredStores()
    private(set) var heldTimer: (any LoopTimer)?
    var turn = 0

    /// How often expired notifications of absent devices are looked for.
    private static let sweepMilliseconds = 10_000

    init(
        index: Int,
        scheduler: any Scheduler,
        outbox: Outbox,
        rows: RowSequence,
        seal: DeviceTokenCodec,
        authority: AccessPolicy,
        random: any RandomSource,
        fidelity: APNsCompatibility = APNsCompatibility(),
        protocolCode: ProtocolCode = ProtocolCode(),
        deviceRules: DeviceRules = DeviceRules(),
        throttle: ReconnectThrottle = ReconnectThrottle(),
        hasDevelopment: Bool = true,
        providerIdleMilliseconds: Int = Limits.providerIdleSeconds.usual * 1000,
        refusalPace: RefusalPace = RefusalPace(),
        log: Log,
        porter: ConnectionMigrator,
        trace: TraceRecorder = TraceRecorder()
    ) {
        self.index = index
        self.scheduler = scheduler
        self.outbox = outbox
        self.rows = rows
        self.seal = seal
        self.authority = authority
        self.random = random
        self.fidelity = fidelity
        self.protocolCode = protocolCode
        self.deviceRules = deviceRules
        self.throttle = throttle
        self.hasDevelopment = hasDevelopment
        self.providerIdleMilliseconds = providerIdleMilliseconds
        enrolmentRefusals = EnrolmentRefusals(refusalPace, on: scheduler)
        self.log = log
        self.porter = porter
        self.trace = trace
        clock = ClockWatch(scheduler)
    }

    /// Begins the work that time brings.
    func start() {
        returnsUntil = scheduler.now + UInt64(deviceRules.returnMilliseconds) * 1_000_000
        sweepTimer = scheduler.makeTimer { [unowned self] in sweep() }
        sweepTimer?.arm(afterMilliseconds: Self.sweepMilliseconds)
        retryTimer = scheduler.makeTimer {}
        heldTimer = scheduler.makeTimer {}
        trace.start(on: scheduler)
    }

    /// A request to be filled, an old one where there is one.
    func takeRequest() -> PushRequest { requestPool.popLast() ?? PushRequest() }

    /// Takes a request back whose push has gone its way. As many as one connection can have open are kept.
    func recycle(_ request: PushRequest) {
        if requestPool.count < Int(Limits.providerStreams) { requestPool.append(request) }
    }

    /// The moment of this turn.
    var now: Moment { Moment(milliseconds: scheduler.wallMilliseconds) }

    /// A number that this shard never gave before.
    func drawNumber() -> UInt64 {
        lastNumber += 1
        return lastNumber
    }

    /// The shard that owns a device.
    func home(of device: DeviceIdentity) -> Int { device.home(among: outbox.shardCount) }

    // MARK: Letters

    /// Works off letters from other threads.
    func receive(_ letters: inout [ShardMessage]) {
        for letter in letters { open(letter) }
        letters.removeAll(keepingCapacity: true)
    }

    /// The end of a turn: works off the letters to itself and posts those to others.
    func turnEnded() {
        outbox.takeOwn(into: &ownLetters)
        while !ownLetters.isEmpty {
            receive(&ownLetters)
            outbox.takeOwn(into: &ownLetters)
        }
        sendDepartures()
        releaseHeld()
        trace.turnEnded()
        if !outbox.post() {
            // A mailbox was full: have another turn soon, even if nothing else happens.
            retryTimer?.arm(afterMilliseconds: 1)
        }
    }

    private func open(_ letter: ShardMessage) {
        switch letter {
        case .deliver(let notification, let receipt): offer(notification, receipt)
        case .answer(let receipt, let verdict): answer(receipt, verdict)
        case .stored(let rows, let failure): stored(rows, failure)
        case .loaded(let device, let asked, let result): loaded(device, asked, result)
        case .adopt(let arrival): adopt(arrival)
        case .enrol(let record, let receipt): enrol(record, receipt)
        case .enrolled(let receipt, let device, let isDurable):
            enrolled(receipt, device, isDurable: isDurable)
        case .applied(let ticket, let result): applications.removeValue(forKey: ticket)?(result)
        case .channel(let letter): open(letter)
        case .authority(let authority):
            self.authority = authority
            removeForbiddenChannels()
        case .question(let question, let id, let asker): reply(to: question, id, asker)
        case .reply(let reply, let id): collect(reply, id)
        case .traced(let ticket, let answer): trace.answered(ticket, answer)
        case .drain: drain()
        case .stop:
            trace.flush()
            onStop?()
        }
    }

    // MARK: The home's part of a push

    func offer(_ notification: Notification, _ receipt: ReplyAddress) {
        guard let entry = entries[notification.device] else {
            answer(receipt, .rejected(.badDeviceToken))
            return
        }
        settleIn(entry)
        let row = rows.draw()
        entry.device.offer(notification, at: row, for: receipt, now: now, presentRules, &tally, &effects)
        perform(for: entry)
    }

    /// What holds for every device now. A provider that is told that a token has expired forgets it: nobody is, for
    /// no more than that the relay was away, or that its clock was set.
    private var presentRules: DeviceRules {
        var rules = deviceRules
        if rules.expiryMilliseconds != nil, scheduler.now < returnsUntil || clock.doubts(scheduler) {
            rules.expiryMilliseconds = nil
        }
        return rules
    }

    /// Lets `change` happen to a device and does what follows from it.
    func with<Result>(
        _ entry: DeviceEntry, _ change: (inout Device, Moment, inout Tally, inout [Device.Effect]) -> Result
    ) -> Result {
        settleIn(entry)
        defer { perform(for: entry) }
        return change(&entry.device, now, &tally, &effects)
    }

    /// Does what a device's events ask for, in order.
    func perform(for entry: DeviceEntry) {
        for effect in effects {
            switch effect {
            case .answer(let receipt, let verdict): answer(receipt, verdict)
            case .take(let queued, let delivery):
                if let delivery { send(queued, as: delivery, to: entry) }
                store(queued, of: entry, isSent: delivery != nil)
            case .send(let queued, let delivery): send(queued, as: delivery, to: entry)
            case .settle(let row): settle(row, of: entry)
            case .load(let rows):
                throttle.began(now: scheduler.now)
                outbox.send(.load(entry.device.record.identity, rows))
            case .noteAccepted(let queued): trace.noteAccepted(queued, at: now)
            case .note(let kind, let row, let detail): trace.note(kind, row, detail: detail, at: now)
            }
        }
        effects.removeAll(keepingCapacity: true)
    }

    /// Answers a push wherever its provider is connected.
    func answer(_ receipt: ReplyAddress, _ verdict: PushResult) {
        guard Int(receipt.shard) != index else {
            providers[receipt.connection]?.answer(receipt.stream, verdict)
            return
        }
        outbox.send(.answer(receipt, verdict), to: Int(receipt.shard))
    }

    private func sweep() {
        // In an order that does not depend on hashes: the same seed has to be the same run.
        let now = now
        let keepsExpired = doubtsClock()
        let due = entries.values.filter { keepsExpired ? $0.device.isGroupDue(at: now) : $0.isDue(at: now) }
            .sorted { ($0.identity.high, $0.identity.low) < ($1.identity.high, $1.identity.low) }
        for entry in due {
            with(entry) { device, now, tally, effects in
                if !keepsExpired { device.expire(now: now, &tally, &effects) }
                if device.isGroupDue(at: now) { device.fetch(now: now, &tally, &effects) }
            }
        }
        if keepsExpired { removeForbiddenChannels() } else { sweepChannels() }
        watchBalance()
        saveSightings()
        sweepTimer?.arm(afterMilliseconds: Self.sweepMilliseconds)
    }

    /// Whether the clock may be a mistake. What has expired by it is not sent, but kept until that is known.
    private func doubtsClock() -> Bool {
        let doubts = clock.doubts(scheduler)
        if doubts, !hasDoubted, index == 0 {
            log.warning(
                "the clock was put forward by more than an hour: what has expired by it is given up "
                    + "in an hour, unless the clock is put right before that")
        }
        hasDoubted = doubts
        return doubts
    }
}
