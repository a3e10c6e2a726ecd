import PostriderCluster
import PostriderJSON
import PostriderNotifications
import PostriderProviderAPI
import PostriderTransport
import PostriderWeb
import PostriderWebPush

/// The requests of application servers on one shard: what they ask for, and what they are answered.
final class WebRoutes {
    /// A request that was passed on to a home and has no answer yet.
    private enum Waiting {
        case push(PostedMessage)
        case receipts
        case removal
    }

    /// A message on its way to its home.
    private struct PostedMessage {
        let push: WebPush
        /// When the request had arrived, in nanoseconds of the shard's clock.
        let since: UInt64
    }

    private let context: ShardContext
    private let addresses: WebAddresses
    private(set) var senders: [UInt64: any WebSender] = [:]
    private var waiting: [ReplyAddress: Waiting] = [:]
    private lazy var plain = PlainSends(context) { [unowned self] address, response in
        senders[address.connection]?.answer(address.stream, response)
    }

    /// - Parameter origin: the origin of all addresses: `https://push.example.org`.
    init(_ context: ShardContext, origin: String) {
        self.context = context
        addresses = WebAddresses(origin: origin, codec: context.codec)
    }

    func add(_ sender: any WebSender) { senders[sender.number] = sender }
    func remove(_ sender: any WebSender) { senders[sender.number] = nil }

    /// What the addresses of subscriptions begin with; empty if there is no web port.
    var endpointPrefix: String { addresses.subscriptionPrefix }

    /// The address of a subscription.
    func endpoint(of device: DeviceIdentity, _ number: RegistrationNumber) -> String {
        addresses.subscription(of: device, number)
    }

    /// Takes a request. Its sender is answered once, now or later.
    func take(_ request: WebRequest, from sender: any WebSender, on stream: Int32) {
        let reply = ReplyAddress(shard: Int32(context.index), stream: stream, connection: sender.number)
        do throws(WebPushRejection) {
            guard let (kind, segments) = WebAddresses.read(request.head.path) else { throw .notFound }
            switch (kind, request.head.method) {
            case (.subscription, "POST"): try push(request, to: segments[0], reply)
            case (.message, "DELETE"): try cancel(segments[0], segments[1], reply)
            case (.receipts, "GET"): try read(segments[0], request.head, reply)
            case (.receipt, "DELETE"): try removeReceipt(segments[0], segments[1], reply)
            case (.device, "POST"): plain.take(request, segments[0], segments[1], reply)
            case (_, "OPTIONS"):
                sender.answer(
                    stream, WebResponse(status: 204, named: CORS.preflight(methods: kind.methods)))
            default: throw .methodNotAllowed(allowed: kind.methods)
            }
        } catch {
            refuse(reply, error, nil)
        }
    }

    /// Answers a request with a refusal, counts it, and records it in the trace.
    private func refuse(_ address: ReplyAddress, _ rejection: WebPushRejection, _ push: WebPush?) {
        context.measures.count(.rejected(rejection.reason), nanoseconds: 0)
        noteRefused(rejection.reason, push, address)
        senders[address.connection]?.answer(address.stream, WebResponse(rejection))
    }

    private func noteRefused(_ reason: Rejection, _ push: WebPush?, _ address: ReplyAddress) {
        context.noteRefused(
            reason, of: push?.identity, topic: WebPush.topic, in: .production, on: address.connection)
    }

    private func push(
        _ request: WebRequest, to segment: String, _ reply: ReplyAddress
    ) throws(WebPushRejection) {
        guard !context.isDraining else { throw .unavailable(retryAfterSeconds: 10) }
        guard let (device, number) = addresses.subscription(segment) else { throw .notFound }
        let checked = try WebPushRequest(body: request.body) { request.head.values(of: $0) }
        let push = WebPush(
            identity: NotificationIdentity(random: context.random.next(), context.random.next()),
            device: device, registration: number, request: checked,
            receipts: checked.wantsReceipt ? receipts(for: checked, to: device) : nil,
            traceContext: request.head.traceContext)
        let posted = PostedMessage(push: push, since: context.scheduler.now)
        try pass(.push(push), reply, .push(posted))
    }

    private func cancel(
        _ subscription: String, _ message: String, _ reply: ReplyAddress
    ) throws(WebPushRejection) {
        guard !context.isDraining else { throw .unavailable(retryAfterSeconds: 10) }
        guard let (device, number) = addresses.subscription(subscription),
            let row = addresses.row(message)
        else { throw .notFound }
        try pass(.cancel(device, number, row), reply, .removal)
    }

    /// The receipt subscription for a message: that of its request, or a new one.
    ///
    /// In a cluster it is in the partition of the device. So a receipt never goes from node to node, where it could be
    /// lost on its way. If the sender has another one, it gets a new one, which the answer names.
    private func receipts(for request: WebPushRequest, to device: DeviceIdentity) -> ReceiptSubscription {
        let partition = context.outbox.places.map { _ in Partition(of: device) }
        let wanted = request.receipts.flatMap { addresses.receipts(at: $0) }
        if let wanted, partition == nil || partition == Partition(of: wanted.identity) { return wanted }
        let (high, low) = (context.random.next(), UInt32(truncatingIfNeeded: context.random.next()))
        return ReceiptSubscription(
            partition?.identity(high: high, low: low) ?? DeviceIdentity(high: high, low: low))
    }

    private func read(_ segment: String, _ head: RequestHead, _ reply: ReplyAddress) throws(WebPushRejection)
    {
        guard !context.isDraining else { throw .unavailable(retryAfterSeconds: 10) }
        guard let subscription = addresses.receipts(segment) else { throw .notFound }
        let seconds = ReceiptRequest.seconds(head.values(of: "prefer"))
        try pass(.readReceipts(subscription, seconds: seconds), reply, .receipts)
    }

    private func removeReceipt(
        _ segment: String, _ message: String, _ reply: ReplyAddress
    ) throws(WebPushRejection) {
        guard !context.isDraining else { throw .unavailable(retryAfterSeconds: 10) }
        guard let subscription = addresses.receipts(segment), let row = addresses.row(message) else {
            throw .notFound
        }
        try pass(.removeReceipt(subscription, row), reply, .removal)
    }

    /// Passes a request to its home, which may be on another node.
    private func pass(
        _ request: SenderRequest, _ reply: ReplyAddress, _ state: Waiting
    ) throws(WebPushRejection) {
        // The home may be this shard, and answer at once.
        waiting[reply] = state
        guard let rejection = context.waiting.route(WaitingRequest(.web(request), reply)) else { return }
        waiting[reply] = nil
        throw WebPushRejection(rejection)
    }

    /// The home, or a node on the way there, has answered a request like a push. The home does so only if it refuses a
    /// message.
    func answer(_ address: ReplyAddress, _ result: PushResult) {
        if plain.answer(address, result) { return }
        guard case .rejected(let rejection, _) = result, let request = waiting.removeValue(forKey: address)
        else { return }
        guard case .push(let posted) = request else {
            return refuse(address, WebPushRejection(rejection), nil)
        }
        context.measures.count(result, nanoseconds: context.scheduler.now - posted.since)
        noteRefused(rejection, posted.push, address)
        senders[address.connection]?.answer(address.stream, WebResponse(WebPushRejection(rejection)))
    }

    /// The home has accepted a message.
    func accepted(_ address: ReplyAddress, _ row: QueueRow, hasReceipt: Bool) {
        guard case .push(let posted)? = waiting.removeValue(forKey: address) else { return }
        context.measures.count(.accepted, nanoseconds: context.scheduler.now - posted.since)
        let push = posted.push
        let receipts = hasReceipt ? push.receipts : nil
        let accepted = WebPushAcceptance(
            location: addresses.message(row, of: push.device, push.registration),
            receipt: receipts.map { addresses.receipts($0) }, secondsToLive: push.request.secondsToLive)
        senders[address.connection]?
            .answer(
                address.stream, WebResponse(status: accepted.status, named: accepted.fields + CORS.fields))
    }

    /// Shard 0 has looked up the device that a script means.
    func found(_ device: Result<DeviceIdentity, Rejection>, _ address: ReplyAddress) {
        plain.found(device, address)
    }

    /// The receipts that a sender has asked for; none if none came while it waited.
    func answer(_ address: ReplyAddress, _ receipts: [Receipt]) {
        guard waiting.removeValue(forKey: address) != nil else { return }
        let list = JSONValue.array(receipts.map { .object(addresses.members(of: $0)) })
        let type = [(name: "content-type", value: "application/json")]
        let response =
            receipts.isEmpty
            ? WebResponse(status: 204, named: CORS.fields)
            : WebResponse(
                status: 200, named: type + CORS.fields,
                body: JSONValue.object(["receipts": list]).bytes ?? [])
        senders[address.connection]?.answer(address.stream, response)
    }

    /// What a sender wanted removed is gone.
    func removed(_ address: ReplyAddress) {
        guard waiting.removeValue(forKey: address) != nil else { return }
        senders[address.connection]?.answer(address.stream, WebResponse(status: 204, named: CORS.fields))
    }

    /// The home has refused a request.
    func refused(_ address: ReplyAddress, _ rejection: WebPushRejection) {
        switch waiting.removeValue(forKey: address) {
        case .push(let posted): refuse(address, rejection, posted.push)
        case .receipts, .removal: refuse(address, rejection, nil)
        case nil: return
        }
    }
}

extension NotificationIdentity {
    /// The canonical form in lower case, by which browsers acknowledge a message.
    var text: String { String(decoding: lowerCaseText, as: UTF8.self) }
}

extension WebResponse {
    fileprivate init(_ rejection: WebPushRejection) {
        self.init(status: rejection.status, named: rejection.fields + CORS.fields, body: rejection.body)
    }

    fileprivate init(status: Int, named fields: [(name: String, value: String)], body: [UInt8] = []) {
        self.init(status: status, fields: fields.map { .init($0.name, $0.value) }, body: body)
    }
}

extension WebPushRejection {
    /// The reason with which a push of the same fault is refused, for metrics and the trace.
    fileprivate var reason: Rejection {
        switch self {
        case .missingTTL, .invalidTTL: .badExpirationDate
        case .invalidUrgency: .badPriority
        case .invalidTopic: .badCollapseIdentifier
        case .unknownEncoding, .missingEncryptionKeys, .invalidEncryptionKeys, .emptyMessage:
            .badRequestPayload
        case .messageTooLarge: .payloadTooLarge
        case .unauthorized: .missingProviderToken
        case .forbidden: .invalidProviderToken
        case .notFound: .badDeviceToken
        case .gone: .unregistered
        case .methodNotAllowed: .methodNotAllowed
        case .tooManyRequests: .tooManyRequests
        case .unavailable: .serviceUnavailable
        }
    }
}
