import PostriderClients
import PostriderCourier
import PostriderCrypto
import PostriderNotifications
import PostriderStorage
import PostriderTransport

/// The agent's link to its relay: it enrols the device if necessary, and then keeps the connection for as long as the
/// agent runs.
final class RelayLink: OutboundLink {
    private let configuration: AgentConfiguration
    private let relay: Server
    private let state: AgentState
    private let router: AppRouter
    private let log: Log
    private unowned let loop: EventLoop
    private let entropy = Entropy()
    private let failed: (AgentFailure) -> Void

    private var client: DeviceClient?
    /// The number of the link on which deliveries arrived last.
    private var number: LinkNumber?
    private var isPausing = false
    private(set) var isStopping = false
    /// Whether the relay has welcomed the device and the link has not ended since.
    private(set) var isUp = false
    /// Whether the device sleeps: nothing connects.
    private var isAsleep = false
    private var isEnrolling = false
    /// Whether the identity is given up, so that the device enrols again before it connects.
    private var needsEnrolment = false
    private var policy: IdentityPolicy
    /// Whether the relay has welcomed the device on the last link.
    private var wasWelcomed = false
    /// Identifies this process to the relay.
    private lazy var processInstance = max(1, entropy.next())
    /// The new identity, while the disk refuses to store it: the relay knows it already.
    private var unkept: EnrollResponse?
    private var reception = Reception.usual
    /// Whether the link has given up for good, which has been reported.
    private(set) var hasFailed = false
    private var backoff = Backoff()
    /// The pauses after failures that last longer than a minute: the relay refuses the identity or the enrolment key.
    private var slowBackoff = Backoff(
        baseMilliseconds: Limits.refusedPauseMilliseconds.least,
        capMilliseconds: Limits.refusedPauseMilliseconds.most, stableMilliseconds: .max)
    private lazy var retry = loop.makeTimer { [unowned self] in start() }

    /// The pause of the link while the disk refuses what arrives over it.
    private static let pauseMilliseconds = 5_000

    init(
        _ configuration: AgentConfiguration, to relay: Server, state: AgentState, router: AppRouter,
        on loop: EventLoop, log: Log, failed: @escaping (AgentFailure) -> Void
    ) {
        self.configuration = configuration
        policy = IdentityPolicy(configuration)
        self.relay = relay
        self.state = state
        self.router = router
        self.loop = loop
        self.log = log
        self.failed = failed
    }

    /// Connects, after it has enrolled a device without an identity.
    func start() {
        guard !isStopping, !isAsleep else { return }
        isPausing = false
        if needsEnrolment {
            client = nil
            return unkept.map { keep($0) } ?? enrol()
        }
        if let client { return client.start() }
        if let unkept { return keep(unkept) }
        do throws(StoreError) {
            if let device = try state.device() { connect(as: device) } else { enrol() }
        } catch {
            fail(AgentFailure(description: error.description))
        }
    }

    /// Says goodbye; calls `whenStopped` when the link has ended.
    func stop(_ whenStopped: @escaping () -> Void) {
        isStopping = true
        retry.disarm()
        willDisconnect("the agent ends")
        if let client { client.stop(whenStopped) } else { whenStopped() }
    }

    /// Says goodbye, because a device that sleeps can receive nothing.
    func sleep() {
        guard !isStopping, !isAsleep else { return }
        isAsleep = true
        retry.disarm()
        willDisconnect("the device sleeps")
        client?.stop(for: .asleep)
    }

    /// Connects at once, because the device is awake.
    func wake() {
        guard !isStopping, isAsleep else { return }
        isAsleep = false
        backoff = Backoff()
        if let client { client.stop { [unowned self] in start() } } else if !isEnrolling { start() }
    }

    private func connect(as device: EnrollResponse) {
        var configuration = DeviceClient.Configuration(
            relay: relay, identity: device.deviceIdentity, secret: device.deviceSecret,
            agent: self.configuration.version)
        configuration.keepaliveSeconds = self.configuration.keepaliveSeconds
        configuration.processInstance = processInstance
        configuration.returnsWhenReplaced = true
        let client = DeviceClient(
            configuration, topics: state.apps.wanted, on: loop, random: { [entropy] in entropy.next() },
            delegate: self)
        for topic in state.apps.unwanted { client.send(.unregister(topic: topic)) }
        client.send(.reception(reception))
        self.client = client
        client.start()
    }

    private func fail(_ failure: AgentFailure) {
        log.error("\(failure)")
        hasFailed = true
        failed(failure)
    }

    // MARK: Enrolment

    private func enrol() {
        guard let key = configuration.enrolmentKey else {
            fail(.notEnrolled(configuration))
            return
        }
        isEnrolling = true
        DeviceClient.enrol(
            at: relay, key: key, name: configuration.name, tags: configuration.tags, on: loop
        ) { [weak self] result in
            self?.enrolled(result)
        }
    }

    private func enrolled(_ result: Result<EnrollResponse, EnrolmentError>) {
        isEnrolling = false
        guard !isStopping else { return }
        do throws(EnrolmentError) {
            keep(try result.get())
        } catch {
            let delay = error.isVerdict ? slowDelay() : nextDelay()
            let line = "not enrolled at \(relay.place): \(error)"
            if error.isVerdict {
                log.error(
                    "\(line); correct the enrolment key; next attempt in \(delay) ms",
                    fields: .init(connection: "\(relay.destination)", reason: "\(error)"))
            } else {
                log.warning(
                    "\(line); next attempt in \(delay) ms",
                    fields: .init(connection: "\(relay.destination)", reason: "\(error)"))
            }
            retry.arm(afterMilliseconds: delay)
        }
    }

    private func nextDelay() -> Int {
        backoff.delayMilliseconds(afterLinkUp: 0, retryAfterMilliseconds: 0, random: entropy.next())
    }

    private func slowDelay() -> Int {
        slowBackoff.delayMilliseconds(afterLinkUp: 0, retryAfterMilliseconds: 0, random: entropy.next())
    }

    private func keep(_ device: EnrollResponse) {
        do throws(StoreError) {
            try state.setDevice(device)
            unkept = nil
            needsEnrolment = false
            log.notice(
                "enrolled as device \(device.deviceIdentity)",
                fields: .init(device: "\(device.deviceIdentity)"))
            if !isAsleep { connect(as: device) }
        } catch {
            router.trouble.note(error)
            unkept = device
            retry.arm(afterMilliseconds: Self.pauseMilliseconds)
        }
    }

    // MARK: OutboundLink

    @discardableResult
    func send(_ message: DeviceMessage) -> Bool {
        switch message {
        case .acknowledge(let deliveries):
            guard let number, let client else { return false }
            client.acknowledge(deliveries, over: number)
            return true
        case .reception(let reception): self.reception = reception
        default: break
        }
        return client?.send(message) ?? false
    }

    func confirm() -> Bool { client?.confirm() ?? false }

    func startAnew() {
        guard !isPausing, !isStopping else { return }
        isPausing = true
        client?.stop { [unowned self] in retry.arm(afterMilliseconds: Self.pauseMilliseconds) }
    }
}

extension RelayLink: DeviceClientDelegate {
    func linkWillConnect() {
        log.debug("connecting to \(relay.place)")
        wasWelcomed = false
        tell(.willConnect)
    }

    func linkDidConnect(_ welcome: Welcome) {
        let line = "connected to \(relay.place), \(welcome.pending) notifications wait there"
        // While the disk refuses what arrives, there is a new link every few seconds, so the line is only for
        // debugging.
        log.write(
            router.trouble.isPresent ? .debug : .notice, line,
            fields: .init(connection: "\(relay.destination)"))
        isUp = true
        wasWelcomed = true
        slowBackoff.reset()
        tell(.didConnect)
        router.center.relayShows(Moment(milliseconds: welcome.nowMilliseconds))
        router.welcomed(welcome.registrations)
        router.subscribeAnew()
        router.reporter.linkIsUp()
    }

    func linkWillDisconnect(_ end: LinkEnd) { willDisconnect("\(end)") }

    /// Called once for a link that was up.
    private func willDisconnect(_ reason: String) {
        guard isUp else { return }
        isUp = false
        tell(.willDisconnect, reason)
    }

    private func tell(_ phase: LinkChange.Phase, _ reason: String = "", next: Moment? = nil) {
        router.system.tell(
            .link(
                LinkChange(
                    phase: phase, relay: "\(relay.destination)", reason: reason, nextAttemptAt: next)))
    }

    func linkDidDisconnect(_ end: LinkEnd, nextAttemptMilliseconds: Int?) {
        willDisconnect("\(end)")
        let pause = isPausing ? Self.pauseMilliseconds : nil
        tell(
            .didDisconnect, "\(end)",
            next: (nextAttemptMilliseconds ?? pause).map {
                Moment(milliseconds: loop.wallMilliseconds + Int64($0))
            })
        router.linkEnded()
        if let nextAttemptMilliseconds {
            log.notice(
                "no link to \(relay.place): \(end); next attempt in \(nextAttemptMilliseconds) ms",
                fields: .init(connection: "\(relay.destination)", reason: "\(end)"))
        } else if end.isUnknownDevice, !isStopping {
            needsEnrolment = policy.unknown(end, wasConnected: wasWelcomed, log: log) == .enrolAnew
            retry.arm(afterMilliseconds: slowDelay())
        }
        guard end.isReplacement, !isStopping, policy.replaced(end, now: loop.now, log: log) == .enrolAnew
        else { return }
        needsEnrolment = true
        client?.stop()
        retry.arm(afterMilliseconds: slowDelay())
    }

    func keepaliveChanged(_ change: KeepaliveChange) { log.notice("\(change)") }

    func linkConfirmed() { router.reporter.confirmed() }

    func registered(_ registration: Registered) { router.registered(registration) }

    func unregistered(topic: String) { router.unregistered(topic) }

    func refused(_ refusal: Refused) { router.refused(refusal) }

    func delivered(_ deliver: Deliver, over link: LinkNumber) {
        number = link
        router.delivered(deliver)
    }

    func subscribed(to channel: ChannelIdentity) { router.subscribed(to: channel) }

    func unsubscribed(_ end: Unsubscribed) { router.unsubscribed(end) }

    func broadcast(_ deliver: Deliver) { router.broadcast(deliver) }
}
