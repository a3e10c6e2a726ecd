import PostriderNotifications
import PostriderWebPush
import RelayFixtures

@testable import PostriderRelay

/// Messages about Web Push, of each kind that leaves a process.
enum WebSamples {
    private static let address = ReplyAddress(shard: 3, stream: .max, connection: .max)
    private static let subscription = ReceiptSubscription(DeviceIdentity(high: 7, low: 0))

    private static func receipt(_ outcome: Receipt.Outcome?) -> Receipt {
        Receipt(
            row: QueueRow(.max), device: Samples.device, registration: RegistrationNumber(.max),
            subscription: subscription, expiresAt: Samples.now, outcome: outcome)
    }

    private static func push(
        _ message: WebPushMessage, topic: String? = nil, _ credentials: VAPIDCredentials? = nil,
        receipts: ReceiptSubscription? = nil, refused: WebPushRejection? = nil
    ) -> WebPush {
        WebPush(
            identity: NotificationIdentity(high: 1, low: 2), device: Samples.device,
            registration: Samples.first,
            request: WebPushRequest(
                secondsToLive: 7, urgency: .veryLow, topic: topic, wantsReceipt: receipts != nil,
                body: message.bytes, message: refused.map { .failure($0) } ?? .success(message),
                credentials: credentials),
            receipts: receipts,
            traceContext: topic.flatMap { _ in
                TraceContext(parent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", state: "a=1")
            })
    }

    private static let rejections: [WebPushRejection] =
        [
            .missingTTL, .invalidTTL, .invalidUrgency, .invalidTopic, .unknownEncoding,
            .missingEncryptionKeys, .invalidEncryptionKeys, .messageTooLarge, .unauthorized, .notFound, .gone,
            .emptyMessage, .methodNotAllowed(allowed: "POST"), .tooManyRequests(retryAfterSeconds: 0),
            .unavailable(retryAfterSeconds: 10),
        ] + VAPIDFlaw.allCases.map { .forbidden($0) }

    private static let send = PlainSend(
        identity: NotificationIdentity(high: 1, low: 2), topic: Samples.topic,
        message: PlainMessage(payload: [1], priority: .considerate, secondsToLive: 7, collapse: nil),
        token: "a")
    private static let longSend = PlainSend(
        identity: NotificationIdentity(high: 1, low: 2), topic: Samples.topic,
        message: PlainMessage(payload: [1, 2], priority: .immediate, secondsToLive: 0, collapse: "c"),
        token: "b",
        traceContext: TraceContext(
            parent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", state: "a=1"))

    /// What senders ask for, with each case.
    static let requests: [SenderRequest] = [
        .push(push(WebPushMessage(nil, []))),
        .push(
            push(
                WebPushMessage(.aesgcm(encryption: "salt=a", cryptoKey: "dh=b"), [1, 2]), topic: "a",
                VAPIDCredentials(token: "t", key: "k"), receipts: subscription)),
        .push(push(WebPushMessage(.aes128gcm, [UInt8](repeating: 7, count: 4096)), topic: "")),
        .push(push(WebPushMessage(nil, [9]), refused: .unknownEncoding)),
        .send(send, Samples.device), .send(longSend, Samples.device),
        .cancel(Samples.device, Samples.first, QueueRow(2)),
        .readReceipts(subscription, seconds: 50), .removeReceipt(subscription, QueueRow(3)),
    ]

    /// What senders are answered, with each case.
    static let answers: [WebMessage] =
        [
            .accepted(address, QueueRow(1), hasReceipt: true),
            .accepted(address, QueueRow(.max), hasReceipt: false), .receipts([], address),
            .receipts([receipt(.delivered), receipt(.ended)], address), .removed(address),
        ] + rejections.map { .refused($0, address) }

    static let messages: [WebMessage] =
        requests.map { .request($0, address) } + answers
        + [nil, .delivered, .ended].map { .receipt(receipt($0)) }
}
