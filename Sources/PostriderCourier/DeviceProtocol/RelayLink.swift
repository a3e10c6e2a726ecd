public import PostriderNotifications

/// The relay's side of one `Connect` stream, as a state machine without I/O.
///
///     awaitingHello ──hello──▶ awaitingWelcome ──welcome()──▶ open ──goodbye()──▶ closing ─┐
///           │                        │                         │                           │
///           └────────────────────────┴── goodbye, or an error ─┴───────────────────────────┴──▶ closed
///
/// In `awaitingWelcome`, the relay verifies the secret and moves the connection to the device's shard, while the
/// device waits. In `closing`, the relay has said goodbye and still accepts acknowledgements, so that deliveries
/// under way are settled.
///
/// The relay's device counts deliveries and owns the `DeliveryWindow`; the link does not. The link passes
/// acknowledgements on, and ``refuse(acknowledgementOf:)`` makes the error for a wrong one.
public struct RelayLink: Sendable {
    /// What a message of the device asks of the relay.
    public enum Event: Hashable, Sendable {
        /// Verify the device; then ``RelayLink/welcome(keepaliveSeconds:registrations:pending:)`` or
        /// ``RelayLink/goodbye(_:retryAfterMilliseconds:detail:)``.
        case hello(Hello)
        /// Answer with `registered` or `refused`. The topic is the text as received.
        case register(topic: String, environment: Environment = .production)
        /// Answer with `registered` or `refused`.
        case registerWebPush(RegisterWebPush)
        /// Answer with `unregistered`, even if the topic was not registered.
        case unregister(topic: String)
        /// Answer with `subscribed`, the stored broadcast, and the channel's broadcasts; or with `unsubscribed`.
        case subscribe(Subscribe)
        /// Answer with `unsubscribed`, even if the device was not subscribed.
        case unsubscribe(ChannelIdentity)
        /// Send queued notifications according to this reception from now on.
        case reception(Reception)
        /// Send the notifications that are held back.
        case fetch
        /// Settle these deliveries. If one is not under way, ``RelayLink/refuse(acknowledgementOf:)``. The array is
        /// never empty.
        case acknowledged([UInt64])
        /// What happened to notifications on the device; no answer is sent.
        case reported(Report)
        /// The device ends the stream; end it with status OK.
        case goodbye(Goodbye)
    }

    private enum State {
        case awaitingHello
        case awaitingWelcome
        case open
        case closing
        case closed
    }

    private let windowSize: Int
    private var state = State.awaitingHello

    /// Creates a link at the start of its stream. `window` is the most deliveries that may be under way; the welcome
    /// contains it.
    public init(window: Int = Limits.deliveryWindow) {
        precondition(
            (1...DeliveryWindow.largest).contains(window), "a delivery window has from 1 to 64 places")
        windowSize = window
    }

    /// Whether the device was accepted and neither side has said goodbye.
    public var isOpen: Bool { if case .open = state { true } else { false } }

    /// Whether the device has not said hello yet.
    public var awaitsHello: Bool { if case .awaitingHello = state { true } else { false } }

    /// Handles a message. Returns nil if the relay has nothing to do. An error closes the link: send
    /// ``CourierError/goodbye`` and end the stream with ``CourierError/status``.
    public mutating func receive(_ message: DeviceMessage) throws(CourierError) -> Event? {
        switch state {
        case .closed: return nil
        case .awaitingHello, .awaitingWelcome: return try receiveBeforeWelcome(message)
        case .open: return try receiveAfterWelcome(message)
        case .closing:
            switch message {
            case .acknowledge, .goodbye: return try receiveAfterWelcome(message)
            case .hello, .register, .registerWebPush, .unregister, .subscribe, .unsubscribe, .reception,
                .fetch, .report,
                .unknown:
                return nil
            }
        }
    }

    /// Returns the welcome to send after the device was verified. The link is open from then on.
    public mutating func welcome(
        keepaliveSeconds: UInt32, registrations: [Registered], pending: UInt64, nowMilliseconds: Int64 = 0,
        webPushURL: String = ""
    ) -> Welcome {
        guard case .awaitingWelcome = state else { preconditionFailure("a welcome answers a hello, once") }
        state = .open
        return Welcome(
            keepaliveSeconds: keepaliveSeconds,
            window: UInt32(windowSize),
            registrations: registrations,
            pending: pending,
            nowMilliseconds: nowMilliseconds,
            webPushURL: webPushURL
        )
    }

    /// The error for acknowledging a delivery that is not under way. It closes the link.
    public mutating func refuse(acknowledgementOf delivery: UInt64) -> CourierError {
        fail("Delivery \(delivery) is not under way and cannot be acknowledged.")
    }

    /// Returns the goodbye to send; nil if one side has said goodbye. Nothing is delivered after it.
    public mutating func goodbye(
        _ reason: Goodbye.Reason,
        retryAfterMilliseconds: UInt32,
        detail: String
    ) -> Goodbye? {
        switch state {
        case .awaitingHello, .awaitingWelcome: state = .closed
        case .open: state = .closing
        case .closing, .closed: return nil
        }
        return Goodbye(reason: reason, retryAfterMilliseconds: retryAfterMilliseconds, detail: detail)
    }

    private mutating func receiveBeforeWelcome(_ message: DeviceMessage) throws(CourierError) -> Event? {
        switch (message, state) {
        case (.hello(let hello), .awaitingHello):
            state = .awaitingWelcome
            return .hello(hello)
        case (.goodbye(let goodbye), _):
            state = .closed
            return .goodbye(goodbye)
        case (.unknown, _):
            return nil
        case (_, .awaitingHello):
            throw fail("The first message of a device must be its hello.")
        case (_, _):
            throw fail("A device must wait for the welcome before it sends anything else.")
        }
    }

    private mutating func receiveAfterWelcome(_ message: DeviceMessage) throws(CourierError) -> Event? {
        switch message {
        case .hello: throw fail("A device says hello once on a stream.")
        case .register(let topic, let environment):
            return .register(topic: topic, environment: environment)
        case .registerWebPush(let wish): return .registerWebPush(wish)
        case .unregister(let topic): return .unregister(topic: topic)
        case .subscribe(let subscribe): return .subscribe(subscribe)
        case .unsubscribe(let channel): return .unsubscribe(channel)
        case .report(let report): return report.events.isEmpty ? nil : .reported(report)
        case .reception(let reception): return .reception(reception)
        case .fetch: return .fetch
        case .acknowledge(let deliveries): return deliveries.isEmpty ? nil : .acknowledged(deliveries)
        case .goodbye(let goodbye):
            state = .closed
            return .goodbye(goodbye)
        case .unknown: return nil
        }
    }

    private mutating func fail(_ sentence: String) -> CourierError {
        state = .closed
        return .outOfOrder(sentence)
    }
}
