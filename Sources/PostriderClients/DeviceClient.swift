public import PostriderCourier
public import PostriderNotifications
public import PostriderTransport

/// The device's end of its relay: holds the link, and comes back whenever it is lost.
///
///     stopped ──start()──▶ connecting ──welcome──▶ connected
///        ▲                  ▲      │                  │
///        │                  │      ▼                  ▼
///        └──final end──── waiting (back-off with jitter, always)
///
/// It belongs to the thread of its loop. Dropping it cuts the link without goodbye.
public final class DeviceClient {
    /// Who the device is, to whom it talks, and how patient it is.
    public struct Configuration: Sendable {
        /// The relay.
        public var relay: Server
        /// What the enrolment gave.
        public var identity: DeviceIdentity
        /// What the enrolment gave, 32 bytes.
        public var secret: [UInt8]
        /// Program and version, for the operator's eyes.
        public var agent: String
        /// The wished seconds between PINGs; 0 leaves it to the relay.
        public var keepaliveSeconds: UInt32 = 0
        /// A number that this process drew when it started, the same for all of its links; 0 leaves it out.
        public var processInstance: UInt64 = 0
        /// Whether the client comes back, ever later, when another connection of its identity has taken its place or
        /// keeps it; else that end is final.
        public var returnsWhenReplaced = false
        /// For the connection to each address of the relay. Milliseconds.
        public var connectMilliseconds = 10_000
        /// From the connection to the welcome. Milliseconds.
        public var welcomeMilliseconds = 15_000
        /// How long a PING may stay unanswered before the relay is taken for dead. Milliseconds.
        public var pongMilliseconds = 20_000
        /// How long a goodbye may take. Milliseconds.
        public var goodbyeMilliseconds = 2_000

        /// A configuration from what has no default.
        public init(relay: Server, identity: DeviceIdentity, secret: [UInt8], agent: String) {
            self.relay = relay
            self.identity = identity
            self.secret = secret
            self.agent = agent
        }
    }

    private enum State {
        case stopped
        case linked(DeviceConnection)
        case waiting
        /// Saying goodbye.
        case stopping(DeviceConnection)
    }

    let configuration: Configuration
    let loop: EventLoop
    unowned let delegate: any DeviceClientDelegate
    private let random: () -> UInt64
    private var backoff: Backoff
    private var state = State.stopped
    private var lastLink = LinkNumber(value: 0)
    private var wanted: [String: Environment]
    private var unwanted: Set<String> = []
    private var reception = Reception.usual
    private var whenStopped: [() -> Void] = []
    /// What is known of the network paths that were used.
    var paths = PathKeepalives()
    /// How often in a row another connection took this one's place.
    private var replacements = 0
    private lazy var pause = loop.makeTimer { [unowned self] in connect() }

    /// A client that does nothing before ``start()``.
    /// - Parameters:
    ///   - topics: registered as soon as the link is up, each in its environment; others stay as the relay has them.
    ///   - random: 64 random bits each time, for the jitter.
    ///   - delegate: must outlive the client.
    public init(
        _ configuration: Configuration, topics: [String: Environment] = [:], on loop: EventLoop,
        backoff: Backoff = Backoff(), random: @escaping () -> UInt64, delegate: any DeviceClientDelegate
    ) {
        self.configuration = configuration
        self.loop = loop
        self.delegate = delegate
        self.random = random
        self.backoff = backoff
        wanted = topics
    }

    deinit {
        switch state {
        case .linked(let connection), .stopping(let connection): connection.abandon()
        case .stopped, .waiting: break
        }
    }

    /// Whether the relay has let the device in and the link is up.
    public var isConnected: Bool {
        if case .linked(let connection) = state { connection.isOpen } else { false }
    }

    /// Connects, and from now on comes back until ``stop(for:_:)`` or a final end.
    public func start() {
        if case .stopped = state { connect() }
    }

    /// Says goodbye if there is a link, and comes back no more. `whenStopped` is called once, when nothing is
    /// left of it; before this call returns if nothing was there.
    ///
    /// - Parameter reason: why, as the relay is told.
    public func stop(
        for reason: Goodbye.Reason = .shutdown, _ whenStopped: @escaping () -> Void = {}
    ) {
        switch state {
        case .stopped: whenStopped()
        case .waiting:
            pause.disarm()
            state = .stopped
            whenStopped()
        case .linked(let connection):
            self.whenStopped.append(whenStopped)
            state = .stopping(connection)
            connection.leave(reason)
        case .stopping: self.whenStopped.append(whenStopped)
        }
    }

    /// Tells the relay something, and returns whether it was sent now.
    ///
    /// - `register`, `unregister`: if there is no link, the next welcome is followed by it. What was asked for last
    ///   counts, and is asked for again on every link. A topic has one environment at a time.
    /// - `reception`: how the device wants to be sent what waits for it, now and on every link.
    /// - `subscribe`, `unsubscribe`: a subscription ends with its link. Ask again whenever
    ///   ``DeviceClientDelegate/linkDidConnect(_:)`` is called, with the last broadcast that was made safe.
    /// - `fetch`: the device is awake and wants what is held back. With every new link that comes without being asked
    ///   for.
    /// - `report`: what became of notifications.
    ///
    /// The client itself says `hello` and `goodbye`; for `acknowledge` there is ``acknowledge(_:over:)``.
    @discardableResult
    public func send(_ message: DeviceMessage) -> Bool {
        switch message {
        case .register(let topic, let environment):
            unwanted.remove(topic)
            wanted[topic] = environment
        case .unregister(let topic):
            wanted[topic] = nil
            unwanted.insert(topic)
        case .reception(let reception):
            guard reception != self.reception else { return false }
            self.reception = reception
        case .subscribe, .unsubscribe, .fetch, .report: break
        case .acknowledge, .hello, .goodbye, .unknown:
            preconditionFailure("a client says \(message) itself")
        }
        return if case .linked(let connection) = state { connection.send(message) } else { false }
    }

    /// Acknowledges deliveries that the device has made safe, each once. Of a link that has ended nothing can
    /// be acknowledged: they come again.
    public func acknowledge(_ deliveries: [UInt64], over link: LinkNumber) {
        switch state {
        case .linked(let connection), .stopping(let connection):
            if connection.number == link { _ = connection.send(.acknowledge(deliveries)) }
        case .stopped, .waiting: return
        }
    }

    private func connect() {
        lastLink = LinkNumber(value: lastLink.value + 1)
        let connection = DeviceConnection(
            lastLink, of: self, wanted: wanted, unwanted: unwanted, reception: reception)
        state = .linked(connection)
        connection.connect()
        delegate.linkWillConnect()
    }

    // MARK: What the connection tells

    /// Something came on the link.
    func heard(_ event: DeviceLink.Event, over link: LinkNumber) {
        switch event {
        case .welcomed(let welcome, send: _): delegate.linkDidConnect(welcome)
        case .registered(let registered): delegate.registered(registered)
        case .unregistered(let topic):
            unwanted.remove(topic)
            delegate.unregistered(topic: topic)
        case .refused(let refused): delegate.refused(refused)
        case .deliver(let deliver): delegate.delivered(deliver, over: link)
        case .subscribed(let channel): delegate.subscribed(to: channel)
        case .unsubscribed(let end): delegate.unsubscribed(end)
        case .broadcast(let deliver): delegate.broadcast(deliver)
        case .goodbye(let goodbye): delegate.linkWillDisconnect(.goodbye(goodbye))
        }
    }

    /// Milliseconds before which a client that was replaced does not come back, so that two machines with one identity
    /// do not throw each other out all the time.
    private func replacedMilliseconds(_ end: LinkEnd, upMilliseconds: Int) -> UInt32 {
        let pause = Limits.replacedPauseMilliseconds
        if upMilliseconds >= pause.most { replacements = 0 }
        guard end.isReplacement else { return 0 }
        defer { replacements += 1 }
        return UInt32(min(pause.least << min(replacements, 20), pause.most))
    }

    /// The connection is gone. `upMilliseconds`: since the welcome.
    func connectionEnded(_ end: LinkEnd, upMilliseconds: Int) {
        let isFinal = end.isUnknownDevice || end.isReplacement && !configuration.returnsWhenReplaced
        if case .linked = state, !isFinal {
            let least = replacedMilliseconds(end, upMilliseconds: upMilliseconds)
            let delay = backoff.delayMilliseconds(
                afterLinkUp: upMilliseconds,
                retryAfterMilliseconds: max(end.retryAfterMilliseconds, least), random: random())
            state = .waiting
            pause.arm(afterMilliseconds: delay)
            delegate.linkDidDisconnect(end, nextAttemptMilliseconds: delay)
        } else {
            state = .stopped
            delegate.linkDidDisconnect(end, nextAttemptMilliseconds: nil)
            let callbacks = whenStopped
            whenStopped = []
            for callback in callbacks { callback() }
        }
    }
}
