public import PostriderCourier
public import PostriderNotifications
public import PostriderTransport

/// A device's connection to its relay, which reconnects whenever it is lost.
///
///     stopped ──start()──▶ connecting ──welcome──▶ connected
///        ▲                  ▲      │                  │
///        │                  │      ▼                  ▼
///        └──final end──── waiting (back-off with jitter, always)
///
/// It belongs to the thread of its loop. Releasing it cuts the link without a goodbye.
public final class DeviceClient {
    /// The identity of the device, its relay, and the timeouts.
    public struct Configuration: Sendable {
        /// The addresses of the relay, in the order of preference; at least one. All of them must lead to the same
        /// relay, or at least to ones that know the same devices.
        public var relays: [Server]
        /// The device identity from the enrolment.
        public var identity: DeviceIdentity
        /// The device secret from the enrolment, 32 bytes.
        public var secret: [UInt8]
        /// Program and version, for the operator.
        public var agent: String
        /// The wished seconds between PINGs; 0 leaves the choice to the relay.
        public var keepaliveSeconds: UInt32 = 0
        /// A random number that this process drew when it started, the same for all of its links; 0 if there is none.
        public var processInstance: UInt64 = 0
        /// Whether the client reconnects, with growing delays, after another connection of its identity has replaced
        /// it or was preferred. If false, that ends the client.
        public var returnsWhenReplaced = false
        /// The limit for the TCP connection to each address of the relay, in milliseconds.
        public var connectMilliseconds = 10_000
        /// The limit from the connection to the welcome, in milliseconds.
        public var welcomeMilliseconds = 15_000
        /// How long a PING may stay unanswered before the link is considered dead, in milliseconds.
        public var pongMilliseconds = 20_000
        /// The limit for a goodbye, in milliseconds.
        public var goodbyeMilliseconds = 2_000

        /// Creates a configuration from the values that have no default.
        public init(relays: [Server], identity: DeviceIdentity, secret: [UInt8], agent: String) {
            self.relays = relays
            self.identity = identity
            self.secret = secret
            self.agent = agent
        }
    }

    private enum State {
        case stopped
        case linked(DeviceConnection)
        case waiting
        /// The client has said goodbye and waits for the end.
        case stopping(DeviceConnection)
    }

    let configuration: Configuration
    let loop: EventLoop
    unowned let delegate: any DeviceClientDelegate
    private let random: () -> UInt64
    private var rotation: RelayRotation
    /// The address of the relay that the client uses, or has used last.
    public private(set) var relay: Server
    private var state = State.stopped
    private var lastLink = LinkNumber(value: 0)
    private var wanted: [String: Environment]
    private var wantedWebPush: [String: RegisterWebPush] = [:]
    private var unwanted: Set<String> = []
    private var reception = Reception.usual
    private var whenStopped: [() -> Void] = []
    /// What is known of the network paths that were used.
    var paths = PathKeepalives()
    private lazy var pause = loop.makeTimer { [unowned self] in connect() }

    /// Creates a client, which does nothing before ``start()``.
    /// - Parameters:
    ///   - topics: topics to register as soon as the link is up, each in its environment. The relay keeps other
    ///     registrations.
    ///   - random: returns 64 random bits, for the jitter.
    ///   - delegate: it must outlive the client.
    public init(
        _ configuration: Configuration, topics: [String: Environment] = [:], on loop: EventLoop,
        backoff: Backoff = .device, random: @escaping () -> UInt64, delegate: any DeviceClientDelegate
    ) {
        self.configuration = configuration
        self.loop = loop
        self.delegate = delegate
        self.random = random
        rotation = RelayRotation(of: configuration.relays.count, backoff)
        relay = configuration.relays[0]
        wanted = topics
    }

    deinit {
        switch state {
        case .linked(let connection), .stopping(let connection): connection.abandon()
        case .stopped, .waiting: break
        }
    }

    /// Whether the link is up: the relay has accepted the device.
    public var isConnected: Bool {
        if case .linked(let connection) = state { connection.isOpen } else { false }
    }

    /// The address of the relay that the client uses next, while it waits.
    public var nextRelay: Server { configuration.relays[rotation.current] }

    /// Connects, and reconnects from now on until ``stop(for:_:)`` or a final end.
    public func start() {
        guard case .stopped = state else { return }
        rotation.restart()
        connect()
    }

    /// Says goodbye if there is a link, and does not reconnect. `whenStopped` is called once, when the link is gone;
    /// if there is no link, it is called before this call returns.
    ///
    /// - Parameter reason: the reason that the relay is given.
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

    /// Sends a message to the relay, and returns whether it was sent now.
    ///
    /// - `register`, `registerWebPush`, `unregister`: without a link, they are sent after the next welcome. The last
    ///   request for a topic counts, and is repeated on every link. A topic has one environment at a time.
    /// - `reception`: how the device wants to get its notifications, on this link and every later one.
    /// - `subscribe`, `unsubscribe`: a subscription ends with its link. Subscribe again whenever
    ///   ``DeviceClientEvent/didConnect(_:)`` happens, with the last broadcast that was stored.
    /// - `fetch`: the device is awake and wants the notifications that the relay holds back. They arrive on every new
    ///   link without it.
    /// - `report`: what happened to notifications.
    ///
    /// The client itself sends `hello` and `goodbye`; acknowledgements are sent by ``acknowledge(_:over:)``.
    @discardableResult
    public func send(_ message: DeviceMessage) -> Bool {
        switch message {
        case .register(let topic, let environment):
            unwanted.remove(topic)
            wanted[topic] = environment
        case .registerWebPush(let wish):
            unwanted.remove(wish.topic)
            wantedWebPush[wish.topic] = wish
        case .unregister(let topic):
            wanted[topic] = nil
            wantedWebPush[topic] = nil
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

    /// Acknowledges deliveries that the device has stored, each once. Deliveries of a link that has ended cannot be
    /// acknowledged; they are delivered again.
    public func acknowledge(_ deliveries: [UInt64], over link: LinkNumber) {
        switch state {
        case .linked(let connection), .stopping(let connection):
            if connection.number == link { _ = connection.send(.acknowledge(deliveries)) }
        case .stopped, .waiting: return
        }
    }

    /// Asks the relay, by a PING, whether it has received all that was sent over the current link; if so,
    /// ``DeviceClientEvent/confirmed`` happens. Returns false if the link is not up.
    public func confirm() -> Bool {
        if case .linked(let connection) = state { connection.confirm() } else { false }
    }

    private func connect() {
        lastLink = LinkNumber(value: lastLink.value + 1)
        relay = nextRelay
        let connection = DeviceConnection(
            lastLink, of: self, wanted: wanted, wantedWebPush: Array(wantedWebPush.values),
            unwanted: unwanted, reception: reception)
        state = .linked(connection)
        connection.dial()
        delegate.receive(.willConnect)
    }

    // MARK: What the connection tells

    /// Handles an event of the link.
    func heard(_ event: DeviceLink.Event, over link: LinkNumber) {
        switch event {
        case .welcomed(let welcome, send: _):
            rotation.welcomed()
            delegate.receive(.didConnect(welcome))
        case .registered(let registered): delegate.receive(.registered(registered))
        case .unregistered(let topic):
            unwanted.remove(topic)
            delegate.receive(.unregistered(topic: topic))
        case .refused(let refused): delegate.receive(.refused(refused))
        case .deliver(let deliver): delegate.receive(.delivered(deliver, over: link))
        case .subscribed(let channel): delegate.receive(.subscribed(channel))
        case .unsubscribed(let end): delegate.receive(.unsubscribed(end))
        case .broadcast(let deliver): delegate.receive(.broadcast(deliver))
        case .goodbye(let goodbye): delegate.receive(.willDisconnect(.goodbye(goodbye)))
        }
    }

    /// The connection has ended. `upMilliseconds` is the time since the welcome.
    func connectionEnded(_ end: LinkEnd, upMilliseconds: Int) {
        let isFinal = end.isReplacement && !configuration.returnsWhenReplaced
        if case .linked = state, !isFinal,
            let delay = rotation.ended(
                end, upMilliseconds: upMilliseconds, now: loop.now, random: random())
        {
            state = .waiting
            pause.arm(afterMilliseconds: delay)
            delegate.receive(.didDisconnect(end, nextAttemptMilliseconds: delay))
        } else {
            state = .stopped
            delegate.receive(.didDisconnect(end, nextAttemptMilliseconds: nil))
            let callbacks = whenStopped
            whenStopped = []
            for callback in callbacks { callback() }
        }
    }
}
