import PostriderCourier
import PostriderNotifications
import PostriderWebPush

/// A message of an application server on its way to the subscription's home.
struct WebPush: Sendable {
    /// Its identity, which the relay has drawn.
    let identity: NotificationIdentity
    let device: DeviceIdentity
    let registration: RegistrationNumber
    let request: WebPushRequest
    /// Where its sender gets the receipt; nil if it wants none.
    let receipts: ReceiptSubscription?
    /// The trace context of its sender; nil if there is none.
    var traceContext: TraceContext?

    /// The topic of all subscriptions of browsers, and of all subscriptions of Web Push in metrics and quotas.
    static let topic: Topic = {
        guard let topic = Topic("web-push") else { preconditionFailure("the text is a topic") }
        return topic
    }()

    /// The notification that the device's queue gets: for a browser the message with its encoding, for an app of
    /// UnifiedPush the body as it came.
    ///
    /// - Parameter topic: the topic of the registration.
    func notification(for topic: Topic, at now: Moment) throws(WebPushRejection) -> Notification {
        let isBrowser = topic == Self.topic
        return Notification(
            identity: identity, device: device, registration: registration, topic: topic, pushType: nil,
            priority: request.urgency.priority, expiration: request.expiration(at: now),
            collapseIdentifier: request.topic,
            payload: try isBrowser ? request.browserMessage().stored : request.appMessage(), acceptedAt: now,
            traceContext: traceContext)
    }

    /// The receipt that its sender is promised; nil if it wants none.
    func receipt(at row: QueueRow, _ now: Moment) -> Receipt? {
        let seconds = request.secondsToLive + Limits.receiptDays * 24 * 60 * 60
        return receipts.map { subscription in
            Receipt(
                row: row, device: device, registration: registration, subscription: subscription,
                expiresAt: now.advanced(byMilliseconds: seconds * 1000))
        }
    }
}

extension Topic {
    /// Whether it is the topic of one subscription of an app of UnifiedPush.
    var isOfUnifiedPush: Bool { RegisterWebPush.hasForm(text) }

    /// The topic under which metrics and quotas count: that of Web Push for all of its subscriptions.
    var counted: Topic { isOfUnifiedPush ? WebPush.topic : self }
}

extension WebPushRequest.Urgency {
    /// A browser that is connected takes everything, so the lower priorities only say what is dropped first.
    fileprivate var priority: Priority {
        switch self {
        case .high, .normal: .immediate
        case .low, .veryLow: .considerate
        }
    }
}

extension WebPushRejection {
    /// The answer to a message that a device's home has refused.
    init(_ rejection: Rejection) {
        self =
            switch rejection {
            case .unregistered, .expiredToken: .gone
            case .badDeviceToken, .deviceTokenNotForTopic: .notFound
            case .payloadTooLarge: .messageTooLarge
            case .tooManyRequests: .tooManyRequests(retryAfterSeconds: 1)
            default: .unavailable(retryAfterSeconds: 10)
            }
    }
}
