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
        case cancellation
    }

    /// A message on its way to its home.
    private struct PostedMessage {
        let push: WebPush
        /// When the request had arrived, in nanoseconds of the shard's clock.
        let since: UInt64
        /// Its row, once its home has drawn that.
        var row: QueueRow?
    }

    private let context: ShardContext
    private let addresses: WebAddresses
    private(set) var senders: [UInt64: any WebSender] = [:]
    private var waiting: [ReplyAddress: Waiting] = [:]

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
            case (_, "OPTIONS"):
                sender.answer(
                    stream, WebResponse(status: 204, named: CORS.preflight(methods: kind.methods)))
            default: throw .methodNotAllowed(allowed: kind.methods)
            }
        } catch {
            context.noteRefused(error)
            sender.answer(stream, WebResponse(error))
        }
    }

    private func push(
        _ request: WebRequest, to segment: String, _ reply: ReplyAddress
    ) throws(WebPushRejection) {
        guard !context.isDraining else { throw .unavailable(retryAfterSeconds: 10) }
        guard let (device, number) = addresses.subscription(segment) else { throw .notFound }
        let checked = try WebPushRequest(body: request.body) { request.head.values(of: $0) }
        let home = try openHome(of: device)
        let push = WebPush(
            identity: NotificationIdentity(random: context.random.next(), context.random.next()),
            device: device, registration: number, request: checked)
        waiting[reply] = .push(PostedMessage(push: push, since: context.scheduler.now))
        context.outbox.send(.web(.push(push, reply)), to: home)
    }

    private func cancel(
        _ subscription: String, _ message: String, _ reply: ReplyAddress
    ) throws(WebPushRejection) {
        guard !context.isDraining else { throw .unavailable(retryAfterSeconds: 10) }
        guard let (device, number) = addresses.subscription(subscription),
            let row = addresses.row(message)
        else { throw .notFound }
        let home = try openHome(of: device)
        waiting[reply] = .cancellation
        context.outbox.send(.web(.cancel(device, number, row, reply)), to: home)
    }

    /// The home of a device, if it takes requests now.
    private func openHome(of device: DeviceIdentity) throws(WebPushRejection) -> Int {
        let home = context.home(of: device)
        guard !context.outbox.isCongested(home) else { throw .tooManyRequests(retryAfterSeconds: 1) }
        return home
    }

    /// The home has drawn the row of a message.
    func queued(_ address: ReplyAddress, _ row: QueueRow) {
        guard case .push(var posted) = waiting[address] else { return }
        posted.row = row
        waiting[address] = .push(posted)
    }

    /// The home's answer to a message.
    func answer(_ address: ReplyAddress, _ result: PushResult) {
        guard case .push(let posted) = waiting[address] else { return }
        waiting[address] = nil
        context.measures.count(result, nanoseconds: context.scheduler.now - posted.since)
        guard let sender = senders[address.connection] else { return }
        switch result {
        case .accepted:
            guard let row = posted.row else {
                preconditionFailure("a home tells the row of a message before it accepts it")
            }
            let accepted = WebPushAcceptance(
                location: addresses.message(row, of: posted.push.device, posted.push.registration),
                receipt: nil, secondsToLive: posted.push.request.secondsToLive)
            sender.answer(
                address.stream, WebResponse(status: accepted.status, named: accepted.fields + CORS.fields))
        case .rejected(let rejection, _):
            sender.answer(address.stream, WebResponse(WebPushRejection(rejection)))
        }
    }

    /// The home has cancelled a message.
    func cancelled(_ address: ReplyAddress) {
        guard waiting.removeValue(forKey: address) != nil else { return }
        senders[address.connection]?.answer(address.stream, WebResponse(status: 204, named: CORS.fields))
    }

    /// The home has refused a request.
    func refused(_ address: ReplyAddress, _ rejection: WebPushRejection) {
        guard waiting.removeValue(forKey: address) != nil else { return }
        context.noteRefused(rejection)
        senders[address.connection]?.answer(address.stream, WebResponse(rejection))
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

extension ShardContext {
    /// Counts a refused message of Web Push by the reason with which a push of the same fault is refused.
    fileprivate func noteRefused(_ rejection: WebPushRejection) {
        let reason: Rejection =
            switch rejection {
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
        measures.count(.rejected(reason), nanoseconds: 0)
    }
}
