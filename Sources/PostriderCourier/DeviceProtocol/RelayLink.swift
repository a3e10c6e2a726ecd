public import PostriderNotifications

/// The relay's side of one `Connect` stream, as a machine without I/O.
///
///     awaitingHello ──hello──▶ awaitingWelcome ──welcome()──▶ open ──goodbye()──▶ closing ─┐
///           │                        │                         │                           │
///           └────────────────────────┴── goodbye, or an error ─┴───────────────────────────┴──▶ closed
///
/// While `awaitingWelcome`, the relay verifies the secret and moves the connection to its home; the device
/// waits. In `closing` the relay has said goodbye but still takes acknowledgements, so that deliveries under
/// way are settled.
///
/// The relay's device, not the link, counts deliveries: it owns the `DeliveryWindow`. The link passes acknowledgements
/// on, and ``refuse(acknowledgementOf:)`` makes the error of one that is wrong.
public struct RelayLink: Sendable {
    /// What a message of the device asks of the relay.
    public enum Event: Hashable, Sendable {
        /// Verify it; then ``RelayLink/welcome(keepaliveSeconds:registrations:pending:)`` or
        /// ``RelayLink/goodbye(_:retryAfterMilliseconds:detail:)``.
        case hello(Hello)
        /// Answer with `registered` or `refused`. The topic is text as it came.
        case register(topic: String, environment: Environment = .production)
        /// Answer with `unregistered`, whether there was a registration or not.
        case unregister(topic: String)
        /// Answer with `subscribed`, what is stored, and the channel's broadcasts; or with `unsubscribed`.
        case subscribe(Subscribe)
        /// Answer with `unsubscribed`, whether there was a subscription or not.
        case unsubscribe(ChannelIdentity)
        /// Send what waits as it says from now on.
        case reception(Reception)
        /// Send what is held back.
        case fetch
        /// Settle these deliveries; if one is not under way, ``RelayLink/refuse(acknowledgementOf:)``. Never empty.
        case acknowledged([UInt64])
        /// What became of notifications there; nothing is answered.
        case reported(Report)
        /// The device leaves; end the stream with status OK.
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

    /// A link at the start of its stream. `window` is how many deliveries may be under way, which the welcome says.
    public init(window: Int = Limits.deliveryWindow) {
        precondition(
            (1...DeliveryWindow.largest).contains(window), "a delivery window has from 1 to 64 places")
        windowSize = window
    }

    /// Whether the device was let in and nobody has said goodbye.
    public var isOpen: Bool { if case .open = state { true } else { false } }

    /// Whether the device has not said hello yet.
    public var awaitsHello: Bool { if case .awaitingHello = state { true } else { false } }

    /// What to do about a message; nil: nothing. An error closes the link: send ``CourierError/goodbye`` and
    /// end the stream with ``CourierError/status``.
    public mutating func receive(_ message: DeviceMessage) throws(CourierError) -> Event? {
        switch state {
        case .closed: return nil
        case .awaitingHello, .awaitingWelcome: return try receiveBeforeWelcome(message)
        case .open: return try receiveAfterWelcome(message)
        case .closing:
            switch message {
            case .acknowledge, .goodbye: return try receiveAfterWelcome(message)
            case .hello, .register, .unregister, .subscribe, .unsubscribe, .reception, .fetch, .report,
                .unknown:
                return nil
            }
        }
    }

    /// The welcome to send, after a hello that was found good. The link is open then.
    public mutating func welcome(
        keepaliveSeconds: UInt32, registrations: [Registered], pending: UInt64, nowMilliseconds: Int64 = 0
    ) -> Welcome {
        guard case .awaitingWelcome = state else { preconditionFailure("a welcome answers a hello, once") }
        state = .open
        return Welcome(
            keepaliveSeconds: keepaliveSeconds,
            window: UInt32(windowSize),
            registrations: registrations,
            pending: pending,
            nowMilliseconds: nowMilliseconds
        )
    }

    /// The error for an acknowledgement of a delivery that is not under way; it closes the link.
    public mutating func refuse(acknowledgementOf delivery: UInt64) -> CourierError {
        fail("Delivery \(delivery) is not under way and cannot be acknowledged.")
    }

    /// The goodbye to send, or nil when one side has said it. Nothing is delivered after it.
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
