import PostriderNotifications
import PostriderProviderAPI
import PostriderTransport
import PostriderWeb
import PostriderWebPush

/// The requests of application servers on one shard: what they ask for, and what they are answered.
final class WebRoutes {
    /// A message that was sent to its home and has no answer yet.
    private struct Waiting {
        let location: String
        let secondsToLive: Int64
        /// When the request had arrived, in nanoseconds of the shard's clock.
        let since: UInt64
    }

    private let context: ShardContext
    /// The origin of the addresses of subscriptions: `https://push.example.org`.
    private let origin: String
    private(set) var senders: [UInt64: any WebSender] = [:]
    private var waiting: [ReplyAddress: Waiting] = [:]

    init(_ context: ShardContext, origin: String) {
        self.context = context
        self.origin = origin
    }

    func add(_ sender: any WebSender) { senders[sender.number] = sender }
    func remove(_ sender: any WebSender) { senders[sender.number] = nil }

    /// The address of a subscription.
    func endpoint(of device: DeviceIdentity, _ number: RegistrationNumber) -> String {
        "\(origin)/push/\(context.codec.seal(device, number).hex)"
    }

    /// Takes a request. Its sender is answered once, now or later.
    func take(_ request: WebRequest, from sender: any WebSender, on stream: Int32) {
        do throws(WebPushRejection) {
            let parts = request.head.path.split(separator: "/", omittingEmptySubsequences: false)
            guard parts.count == 3, parts[1] == "push" else { throw .notFound }
            switch request.head.method {
            case "POST": try push(request, to: String(parts[2]), from: sender, on: stream)
            case "OPTIONS":
                let fields = CORS.preflight(methods: "POST, OPTIONS")
                sender.answer(stream, WebResponse(status: 204, named: fields))
            default: throw .methodNotAllowed(allowed: "POST, OPTIONS")
            }
        } catch {
            context.noteRefused(error)
            sender.answer(stream, WebResponse(error))
        }
    }

    private func push(
        _ request: WebRequest, to address: String, from sender: any WebSender, on stream: Int32
    ) throws(WebPushRejection) {
        guard !context.isDraining else { throw .unavailable(retryAfterSeconds: 10) }
        guard let token = DeviceToken(hex: address), let (device, number) = context.codec.open(token) else {
            throw .notFound
        }
        let checked = try WebPushRequest(body: request.body) { request.head.values(of: $0) }
        let home = context.home(of: device)
        guard !context.outbox.isCongested(home) else { throw .tooManyRequests(retryAfterSeconds: 1) }
        let push = WebPush(
            identity: NotificationIdentity(random: context.random.next(), context.random.next()),
            device: device, registration: number, request: checked)
        let reply = ReplyAddress(shard: Int32(context.index), stream: stream, connection: sender.number)
        waiting[reply] = Waiting(
            location: "\(origin)/m/\(token.hex)/\(push.identity.text)",
            secondsToLive: checked.secondsToLive, since: context.scheduler.now)
        context.outbox.send(.web(.push(push, reply)), to: home)
    }

    /// The home's answer.
    func answer(_ address: ReplyAddress, _ result: PushResult) {
        guard let push = waiting.removeValue(forKey: address) else { return }
        let nanoseconds = context.scheduler.now - push.since
        context.measures.count(result, nanoseconds: nanoseconds)
        guard let sender = senders[address.connection] else { return }
        switch result {
        case .accepted:
            let accepted = WebPushAcceptance(
                location: push.location, receipt: nil, secondsToLive: push.secondsToLive)
            sender.answer(
                address.stream, WebResponse(status: accepted.status, named: accepted.fields + CORS.fields))
        case .rejected(let rejection, _):
            sender.answer(address.stream, WebResponse(WebPushRejection(rejection)))
        }
    }

    /// The home has refused a message.
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
            case .unknownEncoding, .missingEncryptionKeys, .invalidEncryptionKeys: .badRequestPayload
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
