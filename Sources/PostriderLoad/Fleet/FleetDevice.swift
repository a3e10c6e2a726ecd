import PostriderCourier
import PostriderNotifications
import PostriderTransport

/// A device of the fleet, over all of its links.
final class FleetDevice {
    let index: Int
    private unowned let fleet: DeviceFleet
    private(set) var identity: DeviceIdentity?
    private(set) var secret: [UInt8] = []
    private var line: FleetDeviceConnection?
    /// Whether the connector was told to connect it and has not reported the outcome yet.
    private var isAwaited = false
    /// Whether it is to be connected; if not, it does not reconnect.
    private(set) var isWanted = false
    /// Whether the relay has welcomed it and it has all of its device tokens.
    private(set) var isReady = false
    private var knownTokens = 0
    private var judge = DuplicateClassifier(window: Limits.deliveryWindow)
    private var backoff = Backoff.device
    private var readyAt: UInt64 = 0
    private var pause: (any LoopTimer)?
    /// When its last link ended, on the run's clock; 0: never.
    private(set) var lostLinkAt: UInt64 = 0
    /// The number of the last broadcast that came over this link.
    private var lastBroadcast: UInt64?

    init(index: Int, of fleet: DeviceFleet) {
        self.index = index
        self.fleet = fleet
    }

    // MARK: Orders of the fleet

    /// Connects, and comes back whenever the link is lost.
    func come() {
        guard !isWanted else { return }
        isWanted = true
        connect()
    }

    /// Stays away: with a goodbye, or by cutting the link.
    func leave(isOrderly: Bool) {
        isWanted = false
        pause?.disarm()
        guard let line else { return }
        if isOrderly { line.leave() } else { line.wire?.abort(.localClose) }
    }

    /// Loses its link, and reconnects like a device whose network failed.
    func lose() { line?.wire?.abort(.localClose) }

    /// Connects, unless the situation has changed meanwhile.
    private func connect() {
        guard isWanted, line == nil, !isAwaited else { return }
        isAwaited = true
        fleet.connect(self)
    }

    /// The connector reports the outcome of a connection.
    func greeted(_ outcome: Connector.Outcome) {
        isAwaited = false
        switch outcome {
        case .connected(let crate) where isWanted:
            fleet.reachedPort()
            let line = FleetDeviceConnection(self, of: fleet)
            self.line = line
            fleet.loop.adopt(crate, for: line)
        case .connected: break  // The crate closes it.
        case .failed(let reason): linkEnded(reason, goodbye: nil)
        }
    }

    func ping(second: Int) {
        guard isReady, let line, (second + index) % line.keepaliveSeconds == 0 else { return }
        line.ping()
    }

    func subscribe(to channel: ChannelIdentity, of topic: Topic) { line?.subscribe(to: channel, of: topic) }

    // MARK: Events of the connection

    func enrolled(_ answer: EnrollResponse) {
        identity = answer.deviceIdentity
        secret = answer.deviceSecret
        fleet.meter.tally.enrolments += 1
    }

    func registered(_ registered: Registered) {
        guard let app = fleet.topics.firstIndex(where: { $0.text == registered.topic }), app < 64 else {
            return
        }
        guard knownTokens & 1 << app == 0 else { return }
        knownTokens |= 1 << app
        fleet.learnt(registered.deviceToken, device: index, app: app)
        if knownTokens.nonzeroBitCount == fleet.topics.count { fleet.becameReachable(index) }
    }

    func checkReady(isWelcome: Bool) {
        guard isWelcome, !isReady, knownTokens.nonzeroBitCount == fleet.topics.count else { return }
        isReady = true
        readyAt = fleet.meter.clock
        lastBroadcast = nil
        fleet.becameReady()
    }

    /// A push arrived. Returns nil if it is the first time, else which kind of copy it is.
    func judge(_ arrival: PushTracker.Arrival, _ number: UInt64) -> LoadTally.Copy? {
        defer { if arrival != .stray { judge.arrived(number) } }
        switch arrival {
        case .first: return nil
        case .stray: return .strayed
        case .copy: return judge.allows(copyOf: number) ? .repeated : .doubled
        }
    }

    /// Whether a broadcast arrives in its order and for the first time.
    func takeBroadcast(_ number: UInt64) -> Bool {
        if let lastBroadcast, number <= lastBroadcast { return false }
        lastBroadcast = number
        return true
    }

    /// The connection is gone.
    func lineEnded(_ line: FleetDeviceConnection, _ reason: CloseReason) {
        guard self.line === line else { return }
        self.line = nil
        judge.linkEnded(isOrderly: line.hasGoodEnd)
        linkEnded(reason, goodbye: line.goodbye)
    }

    private func linkEnded(_ reason: CloseReason, goodbye: Goodbye?) {
        fleet.meter.readClock()
        let wasReady = isReady
        isReady = false
        if wasReady { lostLinkAt = fleet.meter.sinceStart }
        fleet.ended(self, wasReady: wasReady, reason, goodbye: goodbye)
        guard isWanted else { return }
        let up = wasReady ? Int((fleet.meter.clock - readyAt) / 1_000_000) : 0
        let delay = backoff.delayMilliseconds(
            afterLinkUp: up, retryAfterMilliseconds: goodbye?.retryAfterMilliseconds ?? 0,
            random: fleet.random())
        let pause = self.pause ?? fleet.loop.makeTimer { [unowned self] in connect() }
        self.pause = pause
        pause.arm(afterMilliseconds: delay)
    }
}
