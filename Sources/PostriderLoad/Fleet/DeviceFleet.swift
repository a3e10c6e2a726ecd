import PostriderCourier
import PostriderNotifications
import PostriderSeededRandom
import PostriderTransport

/// The devices of a worker, and what the sending of pushes needs to know about them.
final class DeviceFleet {
    /// Counts of what has happened to the devices' links.
    struct Census {
        /// Devices that are connected, and have all of their tokens.
        var ready = 0
        /// Devices that are subscribed to the channel.
        var subscribed = 0
        /// Whether links have ended since the last call of ``excusePushes()``.
        var haveLinksEnded = false
        /// Whether any device has ever had a connection.
        var hasReachedPort = false
    }

    let loop: EventLoop
    let meter: WorkerMeter
    let outcomes: PushOutcomes
    let failure: FailureReport
    /// The topics of the apps, one for each app on a device.
    let topics: [Topic]
    /// Where the devices connect; nil if the fleet has none, so that pushes go to the target's tokens.
    let port: LoadTarget.DevicePort?
    private var connector: Mailbox<Connector.Order>?
    private let cutter: LinkCutter
    private var chance: SplitMix64
    private(set) var devices: [FleetDevice] = []
    /// The device tokens that are known.
    private(set) var addressees: Addressees
    /// Devices that pushes can go to, by index: all of their tokens are known.
    private(set) var reachable: [Int]
    private(set) var census = Census()
    /// A buffer for messages that are being sent, reused for each.
    var frame: [UInt8] = []

    init(
        _ setup: WorkerSetup, on loop: EventLoop, _ meter: WorkerMeter, _ outcomes: PushOutcomes,
        _ failure: FailureReport, seed: UInt64
    ) throws(TransportError) {
        (self.loop, self.meter, self.outcomes, self.failure) = (loop, meter, outcomes, failure)
        topics = setup.target.topics
        port = setup.target.devices
        cutter = LinkCutter(on: loop)
        chance = SplitMix64(seed: seed)
        let tokens = setup.target.tokens
        if let port {
            addressees = Addressees(devices: setup.devices, apps: topics.count, tokenDigits: 64)
            reachable = []
            // Each device waits for at most one greeting.
            let greetings = try Mailbox<Connector.Greeting>(capacity: setup.devices + 1)
            connector = try Connector.start(setup, port, greetings: greetings)
            try loop.attach(greetings) { [unowned self] greetings in
                for greeting in greetings { devices[greeting.device].greeted(greeting.outcome) }
            }
            devices = (0..<setup.devices).map { FleetDevice(index: $0, of: self) }
        } else {
            addressees = Addressees(
                devices: tokens.count, apps: 1, tokenDigits: tokens.first?.utf8.count ?? 0)
            reachable = Array(tokens.indices)
            for (index, token) in tokens.enumerated() {
                addressees.set(token.utf8.span, device: index, app: 0)
            }
        }
    }

    /// 64 random bits.
    func random() -> UInt64 { chance.next() }

    // MARK: Orders

    /// Connects the first `count` devices.
    func connect(_ count: Int) {
        for device in devices.prefix(count) { device.come() }
    }

    /// Disconnects the last `count` of the connected devices.
    func disconnect(_ count: Int, isOrderly: Bool) {
        for device in devices.filter(\.isWanted).suffix(count) { device.leave(isOrderly: isOrderly) }
    }

    /// Cuts the links of `count` devices, which reconnect; `done` is called after the last cut.
    func storm(_ count: Int, done: @escaping () -> Void) {
        cutter.cut(devices.filter(\.isWanted).prefix(count), done: done)
    }

    /// Subscribes all connected devices to a channel of the first app.
    func subscribe(to channel: ChannelIdentity) {
        census.subscribed = 0
        for device in devices where device.isReady { device.subscribe(to: channel, of: topics[0]) }
    }

    /// Sends PING to a part of the devices. Sending it to all at once would delay what is measured by milliseconds.
    func ping(part: Int, of parts: Int, second: Int) {
        let first = part * devices.count / parts
        let next = (part + 1) * devices.count / parts
        for device in devices[first..<next] { device.ping(second: second) }
    }

    /// Excuses the loss of pushes that were not stored and whose device has lost its link.
    func excusePushes() {
        guard census.haveLinksEnded else { return }
        census.haveLinksEnded = false
        outcomes.mayPush = true
        outcomes.tracker.excuse { device, moment in devices[device].lostLinkAt >= moment }
    }

    /// Ends the thread that connects devices.
    func end() { _ = connector?.postEvenIfFull(.end) }

    // MARK: Devices

    /// Has the connector's thread connect a device; the device is told the outcome.
    func connect(_ device: FleetDevice) {
        guard let connector else { return }
        precondition(connector.post(.connect(device: device.index)), "bug: a device connects twice")
    }

    /// A device has a connection.
    func reachedPort() { census.hasReachedPort = true }

    /// A device is connected, and has all of its tokens.
    func becameReady() { census.ready += 1 }

    /// A device is subscribed to the channel.
    func subscribed() { census.subscribed += 1 }

    /// The token of an app on a device is known.
    func learnt(_ token: DeviceToken, device: Int, app: Int) {
        addressees.set(token.hex.utf8.span, device: device, app: app)
    }

    /// All tokens of a device are known.
    func becameReachable(_ device: Int) {
        reachable.append(device)
        outcomes.mayPush = true
    }

    /// A connection of a device, or an attempt at one, has ended.
    func ended(_ device: FleetDevice, wasReady: Bool, _ reason: CloseReason, goodbye: Goodbye?) {
        if wasReady {
            census.ready -= 1
            census.haveLinksEnded = true
        }
        guard device.isWanted, reason != .localClose || goodbye != nil else { return }
        let words = goodbye.map { "goodbye: \($0.reason)" } ?? reason.description
        guard !wasReady else { return linkBroken(words) }
        meter.tally.failures.countReason(words)
        if !census.hasReachedPort, meter.tally.failures[words, default: 0] >= 3 {
            failure.fail("Devices cannot connect to \(port?.address.description ?? "?"): \(words).")
        }
    }

    /// The relay refused to enrol a device.
    func enrolmentFailed(_ status: GRPCStatus, _ message: String) {
        switch status {
        case .unavailable, .resourceExhausted: meter.tally.failures.countReason("enrolment: \(status)")
        default: failure.fail("The relay enrols no device: \(message) (\(status)).")
        }
    }

    /// A link ended that the fleet did not mean to end.
    func linkBroken(_ sentence: String) { meter.tally.lostLinks.countReason(sentence) }
}

/// Cuts the links of devices, a few at a time, so that pushes can still be sent when they are due.
private final class LinkCutter {
    private static let devicesAtOnce = 10

    private let loop: EventLoop
    /// Devices whose links are still to be cut, the next one last.
    private var waiting: [FleetDevice] = []
    private var timer: (any LoopTimer)?
    private var done: () -> Void = {}

    init(on loop: EventLoop) { self.loop = loop }

    /// Cuts off these devices, and calls `done` after the last.
    func cut(_ devices: ArraySlice<FleetDevice>, done: @escaping () -> Void) {
        waiting = devices.reversed()
        self.done = done
        cutSome()
    }

    private func cutSome() {
        for device in waiting.suffix(Self.devicesAtOnce) { device.lose() }
        waiting.removeLast(min(waiting.count, Self.devicesAtOnce))
        guard waiting.isEmpty else {
            let timer = timer ?? loop.makeTimer { [unowned self] in cutSome() }
            self.timer = timer
            return timer.arm(afterMilliseconds: 1)
        }
        timer = nil
        done()
    }
}
