import PostriderJSON
import PostriderNotifications
import PostriderProviderAPI
import PostriderTransport
import PostriderWeb
import PostriderWebPush

/// A message of a script on its way to a device.
struct PlainSend: Sendable {
    /// Its identity, which the relay has drawn.
    let identity: NotificationIdentity
    let topic: Topic
    let message: PlainMessage
    /// The name of the token with which it was sent, for the trace.
    let token: String
    /// The trace context of its sender; nil if there is none.
    var traceContext: TraceContext?

    /// The notification for a registration of the device.
    func notification(
        for device: DeviceIdentity, _ registration: RegistrationNumber, at now: Moment
    ) -> Notification {
        let seconds = message.secondsToLive
        return Notification(
            identity: identity, device: device, registration: registration, topic: topic, pushType: .alert,
            priority: message.priority,
            expiration: seconds == 0 ? .nowOrNever : .at(now.advanced(byMilliseconds: seconds * 1000)),
            collapseIdentifier: message.collapse, payload: message.payload, acceptedAt: now,
            proof: .key(token), traceContext: traceContext)
    }
}

/// The plain requests with which scripts send alerts (`POST /send/<topic>/<device>`), on the shard of their connection.
/// Shard 0 finds the device by its name, the device's home its registration.
final class PlainSends {
    private struct Waiting {
        let send: PlainSend
        let since: UInt64
    }

    private let context: ShardContext
    private let respond: (ReplyAddress, WebResponse) -> Void
    private var waiting: [ReplyAddress: Waiting] = [:]

    init(_ context: ShardContext, respond: @escaping (ReplyAddress, WebResponse) -> Void) {
        self.context = context
        self.respond = respond
    }

    /// Takes a request.
    func take(_ request: WebRequest, _ topic: String, _ device: String, _ reply: ReplyAddress) {
        guard !context.isDraining else { return refuse(reply, .serviceUnavailable, "the relay is stopping") }
        guard let token = token(of: request.head) else {
            return refuse(
                reply, .missingProviderToken,
                "the request has no valid token: send Authorization: Bearer with one that "
                    + "'postrider send-tokens add' has made")
        }
        guard let topic = Topic(topic), token.topics.contains(topic) else {
            return refuse(reply, .topicDisallowed, "the token \(token.name) may not send to this topic")
        }
        do throws(PlainMessage.Flaw) {
            let message = try PlainMessage(body: request.body) { request.head.values(of: $0) }
            let send = PlainSend(
                identity: NotificationIdentity(random: context.random.next(), context.random.next()),
                topic: topic, message: message, token: token.name,
                traceContext: request.head.traceContext)
            waiting[reply] = Waiting(send: send, since: context.scheduler.now)
            context.outbox.send(.web(.findDevice(device, reply)), to: 0)
        } catch {
            let reason: Rejection = error == .tooLarge ? .payloadTooLarge : .badRequestPayload
            refuse(reply, reason, error.explanation, status: error.status)
        }
    }

    private func token(of head: RequestHead) -> SendTokenRecord? {
        guard let value = head["authorization"], value.utf8.count <= Limits.webPushFieldBytes else {
            return nil
        }
        let parts = value.split(separator: " ")
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
        return context.policy.sendToken(of: Array(parts[1].utf8))
    }

    /// Shard 0 has looked up the device of a request, which goes to that device's home.
    func found(_ found: Result<DeviceIdentity, Rejection>, _ address: ReplyAddress) {
        guard let send = waiting[address]?.send else { return }
        let rejection: Rejection? =
            switch found {
            case .success(let device):
                context.waiting.route(WaitingRequest(.web(.send(send, device)), address))
            case .failure(let rejection): rejection
            }
        if let rejection { _ = answer(address, .rejected(rejection)) }
    }

    /// The home's answer. Returns false if it is not about a plain request.
    func answer(_ address: ReplyAddress, _ result: PushResult) -> Bool {
        guard let sent = waiting.removeValue(forKey: address) else { return false }
        let identity = sent.send.identity
        context.measures.count(result, nanoseconds: context.scheduler.now - sent.since)
        switch result {
        case .accepted:
            let body = JSONValue.object(["id": .string(identity.text)]).bytes ?? []
            let type = RequestHead.Field("content-type", "application/json")
            respond(address, WebResponse(status: 200, fields: [type], body: body))
        case .rejected(let rejection, _):
            noteRefused(rejection, identity, address)
            let (status, sentence) = Self.explanation(of: rejection)
            respond(address, WebResponse(rejection, sentence, status: status))
        }
        return true
    }

    private static func explanation(of rejection: Rejection) -> (status: Int, sentence: String) {
        switch rejection {
        case .badDeviceToken:
            (404, "there is no device of this name: 'postrider devices list' has their names")
        case .unregistered, .deviceTokenNotForTopic: (404, "the device has no app of this topic")
        case .tooManyRequests: (429, "there are too many messages: send again later")
        default: (rejection.status, "the relay refuses the message (\(rejection.rawValue))")
        }
    }

    private func refuse(
        _ address: ReplyAddress, _ reason: Rejection, _ sentence: String, status: Int? = nil
    ) {
        context.measures.count(.rejected(reason), nanoseconds: 0)
        noteRefused(reason, nil, address)
        let status =
            status ?? (reason == .missingProviderToken ? 401 : reason == .topicDisallowed ? 403 : 503)
        respond(address, WebResponse(reason, sentence, status: status))
    }

    private func noteRefused(
        _ reason: Rejection, _ identity: NotificationIdentity?, _ address: ReplyAddress
    ) {
        context.noteRefused(reason, of: identity, topic: nil, in: .production, on: address.connection)
    }
}

extension WebResponse {
    /// A refusal of a plain request: its reason in Apple's spelling, and one sentence.
    fileprivate init(_ reason: Rejection, _ sentence: String, status: Int) {
        var fields = [RequestHead.Field("content-type", "application/json")]
        if status == 401 { fields.append(.init("www-authenticate", "Bearer")) }
        if status == 429 || status == 503 { fields.append(.init("retry-after", "1")) }
        let body = JSONValue.object(["reason": .string(reason.rawValue), "message": .string(sentence)])
        self.init(status: status, fields: fields, body: body.bytes ?? [])
    }
}
