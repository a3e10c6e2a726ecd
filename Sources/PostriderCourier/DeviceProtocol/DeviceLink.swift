public import PostriderNotifications

/// The device's side of one `Connect` stream, as a machine without I/O.
///
///     idle ──start()──▶ awaitingWelcome ──welcome──▶ open ──goodbye()──▶ closed
///                              │                      └──goodbye──▶ closing (acknowledgements only)
///                              └── goodbye, or an error ──▶ closed
///
/// Topics may be asked for in any state: what cannot be sent yet is sent with the welcome.
public struct DeviceLink: Sendable {
    /// What a message of the relay tells the device.
    public enum Event: Hashable, Sendable {
        /// The link is up; send these messages: they register what is wanted and not registered, and
        /// unregister what is registered and was given up meanwhile.
        case welcomed(Welcome, send: [DeviceMessage])
        /// A registration is alive.
        case registered(Registered)
        /// A registration has ended.
        case unregistered(topic: String)
        /// A registration cannot be made.
        case refused(Refused)
        /// Keep it, then ``DeviceLink/acknowledge(_:)``. It may be a second copy of one that was received
        /// before.
        case deliver(Deliver)
        /// A channel's broadcasts come from now on.
        case subscribed(ChannelIdentity)
        /// A channel's broadcasts do not come, or not any more.
        case unsubscribed(Unsubscribed)
        /// A broadcast: keep it; it is not acknowledged. It may be a second copy of one that was received before.
        case broadcast(Deliver)
        /// The relay ends the stream; ``Goodbye/retryAfterMilliseconds`` is for the ``Backoff``.
        case goodbye(Goodbye)
    }

    private enum State {
        case idle
        case awaitingWelcome
        case open(DeliveryWindow)
        case closing(DeliveryWindow)
        case closed
    }

    private var hello: Hello
    private var wanted: [String: Environment]
    private var unwanted: Set<String>
    /// Whether the device has changed its mind since its hello.
    private var isReceptionDue = false
    private var state = State.idle

    /// A link that has not started: who calls, the topics that must be registered, each in its environment, and
    /// those that must not be. Topics in neither stay as the relay has them.
    public init(hello: Hello, wanted: [String: Environment], unwanted: Set<String>) {
        precondition(unwanted.isDisjoint(with: wanted.keys), "a topic is wanted or not")
        self.hello = hello
        self.wanted = wanted
        self.unwanted = unwanted
    }

    /// Whether the relay has let the device in and nobody has said goodbye.
    public var isOpen: Bool { if case .open = state { true } else { false } }

    /// The first message, to be sent when the stream is open.
    public mutating func start() -> DeviceMessage {
        guard case .idle = state else { preconditionFailure("a link starts once") }
        state = .awaitingWelcome
        return .hello(hello)
    }

    /// What a message means to the device; nil: nothing. An error closes the link: send
    /// ``CourierError/goodbye``, close the stream, back off.
    public mutating func receive(_ message: RelayMessage) throws(CourierError) -> Event? {
        switch state {
        case .idle: throw fail("The relay spoke before the hello.")
        case .awaitingWelcome: return try receiveBeforeWelcome(message)
        case .open(let window): return try receive(message, window)
        case .closing, .closed: return nil
        }
    }

    /// Asks for a token; a topic has one environment at a time. The message to send now, or nil when it goes out
    /// with the welcome or the link has ended.
    public mutating func register(_ topic: String, in environment: Environment = .production)
        -> DeviceMessage?
    {
        unwanted.remove(topic)
        wanted[topic] = environment
        return isOpen ? .register(topic: topic, environment: environment) : nil
    }

    /// Gives a topic up; the message to send now, or nil when it goes out with the welcome or the link has
    /// ended.
    public mutating func unregister(_ topic: String) -> DeviceMessage? {
        wanted[topic] = nil
        unwanted.insert(topic)
        return isOpen ? .unregister(topic: topic) : nil
    }

    /// Asks for a channel's broadcasts; the message to send now, or nil while the link is not open. A subscription
    /// lives as long as its link: ask again after each welcome.
    public func subscribe(_ subscription: Subscribe) -> DeviceMessage? {
        isOpen ? .subscribe(subscription) : nil
    }

    /// Asks for no more of them; the message to send now, or nil while the link is not open.
    public func unsubscribe(_ channel: ChannelIdentity) -> DeviceMessage? {
        isOpen ? .unsubscribe(channel) : nil
    }

    /// Tells what became of notifications; the message to send now, or nil while the link is not open.
    public func report(_ report: Report) -> DeviceMessage? { isOpen ? .report(report) : nil }

    /// Tells how the device wants to be sent what waits for it; the message to send now, or nil when it is part of the
    /// hello or the link has ended.
    public mutating func receive(by reception: Reception) -> DeviceMessage? {
        hello.reception = reception
        switch state {
        case .awaitingWelcome: isReceptionDue = true
        case .open: return .reception(reception)
        case .idle, .closing, .closed: break
        }
        return nil
    }

    /// Asks for what is held back; the message to send now, or nil while the link is not open: what waits when a link
    /// begins comes without being asked for.
    public func fetch() -> DeviceMessage? { isOpen ? .fetch : nil }

    /// Acknowledges deliveries of this link that the device has made safe; each once. Nil when there is
    /// nothing to send or the stream has ended: then they come again on the next one.
    public mutating func acknowledge(_ deliveries: [UInt64]) -> DeviceMessage? {
        guard !deliveries.isEmpty else { return nil }
        switch state {
        case .open(var window):
            settle(deliveries, in: &window)
            state = .open(window)
        case .closing(var window):
            settle(deliveries, in: &window)
            state = .closing(window)
        case .idle, .awaitingWelcome, .closed: return nil
        }
        return .acknowledge(deliveries)
    }

    /// The last message, before the device closes the stream; nil when it cannot be sent or one side has said
    /// it.
    public mutating func goodbye(_ reason: Goodbye.Reason, detail: String) -> DeviceMessage? {
        defer { state = .closed }
        switch state {
        case .awaitingWelcome, .open:
            return .goodbye(Goodbye(reason: reason, retryAfterMilliseconds: 0, detail: detail))
        case .idle, .closing, .closed: return nil
        }
    }

    private func settle(_ deliveries: [UInt64], in window: inout DeliveryWindow) {
        let stranger = window.acknowledge(deliveries)
        precondition(stranger == nil, "a device acknowledges what this link delivered, once")
    }

    private mutating func receiveBeforeWelcome(_ message: RelayMessage) throws(CourierError) -> Event? {
        switch message {
        case .welcome(let welcome):
            do throws(CourierError) {
                try welcome.check()
            } catch {
                state = .closed
                throw error
            }
            state = .open(DeliveryWindow(size: Int(welcome.window)))
            return .welcomed(welcome, send: reconciliation(with: welcome.registrations))
        case .goodbye(let goodbye):
            state = .closed
            return .goodbye(goodbye)
        case .unknown: return nil
        case .registered, .unregistered, .refused, .deliver, .subscribed, .unsubscribed, .broadcast:
            throw fail("The first message of a relay must be its welcome.")
        }
    }

    private mutating func receive(_ message: RelayMessage, _ window: DeliveryWindow) throws(CourierError)
        -> Event?
    {
        switch message {
        case .welcome: throw fail("A relay says welcome once on a stream.")
        case .registered(let registered): return .registered(registered)
        case .unregistered(let topic): return .unregistered(topic: topic)
        case .refused(let refused): return .refused(refused)
        case .deliver(let deliver):
            var window = window
            guard deliver.delivery == window.next else {
                throw fail("Delivery \(deliver.delivery) came where \(window.next) was due.")
            }
            guard window.advance() != nil else {
                throw fail("Delivery \(deliver.delivery) is outside of the window.")
            }
            state = .open(window)
            return .deliver(deliver)
        case .subscribed(let channel): return .subscribed(channel)
        case .unsubscribed(let unsubscribed): return .unsubscribed(unsubscribed)
        case .broadcast(let deliver): return .broadcast(deliver)
        case .goodbye(let goodbye):
            state = .closing(window)
            return .goodbye(goodbye)
        case .unknown: return nil
        }
    }

    private func reconciliation(with registrations: [Registered]) -> [DeviceMessage] {
        let registered = Dictionary(
            registrations.map { ($0.topic, $0.environment) }, uniquingKeysWith: { $1 })
        let missing = wanted.filter { registered[$0.key] != $0.value }.sorted { $0.key < $1.key }
        let left = unwanted.filter { registered[$0] != nil }.sorted()
        return (isReceptionDue ? [.reception(hello.reception)] : [])
            + missing.map { .register(topic: $0.key, environment: $0.value) }
            + left.map { .unregister(topic: $0) }
    }

    private mutating func fail(_ sentence: String) -> CourierError {
        state = .closed
        return .outOfOrder(sentence)
    }
}
