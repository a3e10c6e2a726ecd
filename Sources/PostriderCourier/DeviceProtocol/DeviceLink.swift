public import PostriderNotifications

/// The device's side of one `Connect` stream, as a state machine without I/O.
///
///     idle ──start()──▶ awaitingWelcome ──welcome──▶ open ──goodbye()──▶ closed
///                              │                      └──goodbye──▶ closing (acknowledgements only)
///                              └── goodbye, or an error ──▶ closed
///
/// Topics may be registered in any state: what cannot be sent yet is sent after the welcome.
public struct DeviceLink: Sendable {
    /// What a message of the relay means for the device.
    public enum Event: Hashable, Sendable {
        /// The link is open. The device has to send these messages, which register topics that are wanted and not
        /// registered, and unregister topics that are registered and were given up meanwhile.
        case welcomed(Welcome, send: [DeviceMessage])
        /// A topic is registered.
        case registered(Registered)
        /// A registration has ended.
        case unregistered(topic: String)
        /// The relay has refused a registration.
        case refused(Refused)
        /// A notification: store it, then ``DeviceLink/send(_:)`` its acknowledgement. It may be a copy of one that
        /// was received before.
        case deliver(Deliver)
        /// The device is subscribed to a channel.
        case subscribed(ChannelIdentity)
        /// The device is not, or no longer, subscribed to a channel.
        case unsubscribed(Unsubscribed)
        /// A broadcast: store it; it is not acknowledged. It may be a copy of one that was received before.
        case broadcast(Deliver)
        /// The relay ends the stream. ``Goodbye/retryAfterMilliseconds`` goes to the ``Backoff``.
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
    /// The registrations for Web Push that must be, by topic.
    private var wantedWebPush: [String: RegisterWebPush]
    private var unwanted: Set<String>
    /// Whether the reception has changed since the hello, and has to be sent again.
    private var isReceptionDue = false
    private var state = State.idle

    /// Creates a link that has not started, with the topics that must be registered, each in its environment or for
    /// Web Push, and those that must not be. The relay keeps other registrations as they are.
    public init(
        hello: Hello, wanted: [String: Environment], wantedWebPush: [RegisterWebPush] = [],
        unwanted: Set<String>
    ) {
        self.wantedWebPush = Dictionary(wantedWebPush.map { ($0.topic, $0) }) { $1 }
        precondition(
            unwanted.isDisjoint(with: wanted.keys) && unwanted.isDisjoint(with: self.wantedWebPush.keys),
            "a topic is wanted or not")
        self.hello = hello
        self.wanted = wanted
        self.unwanted = unwanted
    }

    /// Whether the relay has accepted the device and neither side has said goodbye.
    public var isOpen: Bool { if case .open = state { true } else { false } }

    /// Returns the first message, to be sent when the stream is open.
    public mutating func start() -> DeviceMessage {
        guard case .idle = state else { preconditionFailure("a link starts once") }
        state = .awaitingWelcome
        return .hello(hello)
    }

    /// Handles a message. Returns nil if the device has nothing to do. An error closes the link: send
    /// ``CourierError/goodbye``, close the stream, and wait for the back-off.
    public mutating func receive(_ message: RelayMessage) throws(CourierError) -> Event? {
        switch state {
        case .idle: throw fail("The relay spoke before the hello.")
        case .awaitingWelcome: return try receiveBeforeWelcome(message)
        case .open(let window): return try receive(message, window)
        case .closing, .closed: return nil
        }
    }

    /// Returns the message to send now; nil if it cannot be sent.
    ///
    /// - `register`, `registerWebPush`, `unregister`: a topic has one environment at a time. Before the welcome they
    ///   are recorded, and sent after it.
    /// - `subscribe`, `unsubscribe`: a subscription ends with its link, so the device subscribes again after each
    ///   welcome.
    /// - `reception`: before the hello it becomes part of it; before the welcome it is recorded, and sent after it.
    /// - `acknowledge`: deliveries of this link that the device has stored, each once. They can still be acknowledged
    ///   after a goodbye of the relay; those that are not are delivered again on the next link.
    /// - `report`, `fetch`: nil while the link is not open. Notifications that are queued when a link opens arrive
    ///   without `fetch`.
    ///
    /// The link itself sends `hello` and `goodbye`; passing one of these is a bug.
    public mutating func send(_ message: DeviceMessage) -> DeviceMessage? {
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
            hello.reception = reception
            if case .awaitingWelcome = state { isReceptionDue = true }
        case .acknowledge(let deliveries): return acknowledge(deliveries) ? message : nil
        case .subscribe, .unsubscribe, .report, .fetch: break
        case .hello, .goodbye, .unknown: preconditionFailure("a link says \(message) itself")
        }
        return isOpen ? message : nil
    }

    /// Records acknowledgements. Returns false if there is nothing to send, or if the stream has ended.
    private mutating func acknowledge(_ deliveries: [UInt64]) -> Bool {
        guard !deliveries.isEmpty else { return false }
        switch state {
        case .open(var window):
            settle(deliveries, in: &window)
            state = .open(window)
        case .closing(var window):
            settle(deliveries, in: &window)
            state = .closing(window)
        case .idle, .awaitingWelcome, .closed: return false
        }
        return true
    }

    /// Returns the last message, to be sent before the device closes the stream; nil if it cannot be sent, or if one
    /// side has said goodbye.
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
        let missingWebPush = wantedWebPush.values.filter { registered[$0.topic] == nil }
            .sorted { $0.topic < $1.topic }
        let left = unwanted.filter { registered[$0] != nil }.sorted()
        return (isReceptionDue ? [.reception(hello.reception)] : [])
            + missing.map { .register(topic: $0.key, environment: $0.value) }
            + missingWebPush.map { .registerWebPush($0) }
            + left.map { .unregister(topic: $0) }
    }

    private mutating func fail(_ sentence: String) -> CourierError {
        state = .closed
        return .outOfOrder(sentence)
    }
}
