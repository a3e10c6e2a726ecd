import PostriderClients
import PostriderCourier
import PostriderNotifications
import PostriderStorage
import PostriderTransport

/// The agent's link to its relay: it enrols the device if necessary, and then keeps the connection for as long as the
/// agent runs. What it brings is taken at the end of each turn.
final class RelayLink: OutboundLink {
    /// What holds the link back.
    private struct Holds: OptionSet {
        let rawValue: UInt8
        /// The disk refuses what arrives: the link begins anew after a pause.
        static let storage = Holds(rawValue: 1)
        /// The device sleeps.
        static let sleep = Holds(rawValue: 2)
        /// The agent ends.
        static let end = Holds(rawValue: 4)
        /// The identity is given up, so that the device enrols again before it connects.
        static let identity = Holds(rawValue: 8)
    }

    /// The last link.
    private struct Session {
        /// The number of the link on which deliveries arrived last.
        var number: LinkNumber?
        /// Whether the relay has welcomed the device and the link has not ended since.
        var isUp = false
        /// Whether the relay has welcomed the device on it.
        var wasWelcomed = false
    }

    private let maker: DeviceClientMaker
    private let state: AgentState
    private let enrolment: DeviceEnrolment
    private let trouble: StateTrouble
    private let log: Log
    private unowned let loop: EventLoop

    private var client: DeviceClient?
    private var holds: Holds = []
    private var session = Session()
    private var policy: IdentityPolicy
    private var pauses: LinkPauses
    private var reception = Reception.usual
    private lazy var retry = loop.makeTimer { [unowned self] in start() }
    private var events: ArraySlice<LinkEvent> = []
    /// Why the link has given up for good, which has been logged; nil if it has not.
    private(set) var failure: AgentFailure?

    init(
        _ configuration: AgentConfiguration, to relays: [Server], state: AgentState, trouble: StateTrouble,
        on loop: EventLoop, log: Log
    ) {
        maker = DeviceClientMaker(configuration, to: relays, on: loop)
        enrolment = DeviceEnrolment(
            configuration, at: relays, state: state, trouble: trouble, on: loop, log: log)
        policy = IdentityPolicy(configuration)
        pauses = LinkPauses(maker.entropy)
        self.state = state
        self.trouble = trouble
        self.loop = loop
        self.log = log
    }

    /// Whether the relay has welcomed the device and the link has not ended since.
    var isUp: Bool { session.isUp }

    /// Whether the agent ends.
    var isStopping: Bool { holds.contains(.end) }

    var place: String? { isUp ? relay.place : nil }

    /// The address of the relay that is used now, or was used last.
    private var relay: Server { client?.relay ?? enrolment.relay }

    /// Removes and returns the first of the events that are to be processed; nil if there is none.
    func nextEvent() -> LinkEvent? { events.popFirst() }

    /// Connects, after it has enrolled a device without an identity.
    func start() {
        guard holds.isDisjoint(with: [.end, .sleep]) else { return }
        holds.remove(.storage)
        if holds.contains(.identity) {
            client = nil
            return enrol()
        }
        if let client { return client.start() }
        if enrolment.unstored != nil { return enrol() }
        do throws(StoreError) {
            if let device = try state.device() { connect(as: device) } else { enrol() }
        } catch {
            fail(AgentFailure(description: error.description))
        }
    }

    /// Says goodbye; calls `whenStopped` when the link has ended.
    func stop(_ whenStopped: @escaping () -> Void) {
        holds.insert(.end)
        retry.disarm()
        willDisconnect("the agent ends")
        if let client { client.stop(whenStopped) } else { whenStopped() }
    }

    private func connect(as device: EnrollResponse) {
        let topics = state.apps.wanted.filter { !RegisterWebPush.hasForm($0.key) }
        let client = maker.makeClient(as: device, topics: topics, delegate: self)
        for record in state.connectors.records.values { client.send(.registerWebPush(record.wish)) }
        for topic in state.apps.unwanted { client.send(.unregister(topic: topic)) }
        client.send(.reception(reception))
        self.client = client
        client.start()
    }

    private func fail(_ failure: AgentFailure) {
        log.error("\(failure)")
        self.failure = self.failure ?? failure
    }

    // MARK: Enrolment

    private func enrol() {
        if let device = enrolment.unstored { return store(device) }
        if !enrolment.begin({ [weak self] in self?.enrolled($0) }) { fail(.notEnrolled(maker.configuration)) }
    }

    private func enrolled(_ result: Result<EnrollResponse, EnrolmentError>) {
        guard !isStopping else { return }
        do throws(EnrolmentError) {
            store(try result.get())
        } catch {
            let delay = error.isVerdict ? pauses.nextAfterRefusal() : pauses.next()
            let relay = enrolment.relay
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

    private func store(_ device: EnrollResponse) {
        guard enrolment.store(device) else {
            return retry.arm(afterMilliseconds: LinkPauses.storageMilliseconds)
        }
        holds.remove(.identity)
        if !holds.contains(.sleep) { connect(as: device) }
    }

    // MARK: OutboundLink

    @discardableResult
    func send(_ message: DeviceMessage) -> Bool {
        switch message {
        case .acknowledge(let deliveries):
            guard let number = session.number, let client else { return false }
            client.acknowledge(deliveries, over: number)
            return true
        case .reception(let reception): self.reception = reception
        default: break
        }
        return client?.send(message) ?? false
    }

    func confirm() -> Bool { client?.confirm() ?? false }

    func startAnew() {
        guard holds.isDisjoint(with: [.storage, .end]) else { return }
        holds.insert(.storage)
        client?.stop { [unowned self] in retry.arm(afterMilliseconds: LinkPauses.storageMilliseconds) }
    }

    func sleep() {
        guard holds.isDisjoint(with: [.sleep, .end]) else { return }
        holds.insert(.sleep)
        retry.disarm()
        willDisconnect("the device sleeps")
        client?.stop(for: .asleep)
    }

    func wake() {
        guard !isStopping, holds.contains(.sleep) else { return }
        holds.remove(.sleep)
        pauses.awake()
        if let client { client.stop { [unowned self] in start() } } else if !enrolment.isUnderWay { start() }
    }
}

extension RelayLink: DeviceClientDelegate {
    func receive(_ event: DeviceClientEvent) {
        switch event {
        case .willConnect: willConnect()
        case .didConnect(let welcome): didConnect(welcome)
        case .willDisconnect(let end): willDisconnect("\(end)")
        case .didDisconnect(let end, let next): didDisconnect(end, nextAttemptMilliseconds: next)
        case .keepaliveChanged(let change): log.notice("\(change)")
        case .confirmed: events.append(.confirmed)
        case .registered(let registration): events.append(.registered(registration))
        case .unregistered(let topic): events.append(.unregistered(topic: topic))
        case .refused(let refusal): events.append(.refused(refusal))
        case .delivered(let deliver, let link):
            session.number = link
            events.append(.delivered(deliver))
        case .subscribed(let channel): events.append(.subscribed(channel))
        case .unsubscribed(let end): events.append(.unsubscribed(end))
        case .broadcast(let deliver): events.append(.broadcast(deliver))
        }
    }

    private func willConnect() {
        log.debug("connecting to \(relay.place)")
        session.wasWelcomed = false
        change(.willConnect)
    }

    private func didConnect(_ welcome: Welcome) {
        let line = "connected to \(relay.place), \(welcome.pending) notifications wait there"
        // While the disk refuses what arrives, there is a new link every few seconds, so the line is only for
        // debugging.
        log.write(
            trouble.isPresent ? .debug : .notice, line, fields: .init(connection: "\(relay.destination)"))
        session.isUp = true
        session.wasWelcomed = true
        pauses.welcomed()
        change(.didConnect)
        events.append(.connected(welcome))
    }

    /// Called once for a link that was up.
    private func willDisconnect(_ reason: String) {
        guard session.isUp else { return }
        session.isUp = false
        change(.willDisconnect, reason)
    }

    private func change(_ phase: LinkChange.Phase, _ reason: String = "", next: Moment? = nil) {
        events.append(
            .changed(
                LinkChange(
                    phase: phase, relay: "\(relay.destination)", reason: reason, nextAttemptAt: next)))
    }

    private func didDisconnect(_ end: LinkEnd, nextAttemptMilliseconds: Int?) {
        willDisconnect("\(end)")
        let pause = holds.contains(.storage) ? LinkPauses.storageMilliseconds : nil
        change(
            .didDisconnect, "\(end)",
            next: (nextAttemptMilliseconds ?? pause).map {
                Moment(milliseconds: loop.wallMilliseconds + Int64($0))
            })
        events.append(.ended)
        if let nextAttemptMilliseconds {
            tellAttempt(end, nextAttemptMilliseconds)
        } else if end.isUnknownDevice, !isStopping {
            let verdict = policy.unknown(end, wasConnected: session.wasWelcomed, log: log)
            if verdict == .enrolAnew { holds.insert(.identity) } else { holds.remove(.identity) }
            retry.arm(afterMilliseconds: pauses.nextAfterRefusal())
        }
        guard end.isReplacement, !isStopping, policy.replaced(end, now: loop.now, log: log) == .enrolAnew
        else { return }
        holds.insert(.identity)
        client?.stop()
        retry.arm(afterMilliseconds: pauses.nextAfterRefusal())
    }

    /// Logs why there is no link, and when and where the next attempt is.
    private func tellAttempt(_ end: LinkEnd, _ milliseconds: Int) {
        let next = client?.nextRelay.place ?? relay.place
        let place = next == relay.place ? "" : " at \(next)"
        let line = "no link to \(relay.place): \(end); next attempt in \(milliseconds) ms\(place)"
        let fields = Log.Fields(connection: "\(relay.destination)", reason: "\(end)")
        if end.isUnknownDevice {
            log.warning(
                "\(line). The device keeps its identity unless none of its relays knows it: all addresses of "
                    + "'relay' must lead to one relay", fields: fields)
        } else {
            log.notice(line, fields: fields)
        }
    }
}
