import FoundationEssentials
import PostriderHTTP2
import PostriderNotifications
public import PostriderTransport

/// A provider that sends pushes over one connection, as many concurrently as the relay accepts.
///
/// It belongs to the thread of its loop. When its connection has ended, create another client.
public final class ProviderClient {
    private let requests: RequestClient
    private let loop: EventLoop
    private let timeoutMilliseconds: Int
    private var tokens: ProviderTokenMaker?

    /// Called once, when the connection has ended and every completion was called.
    public var onClose: ((CloseReason) -> Void)? {
        get { requests.onClose }
        set { requests.onClose = newValue }
    }

    /// Starts to connect. Pushes may be sent at once.
    /// - Parameters:
    ///   - tokens: makes provider tokens; nil if a certificate identifies the provider.
    ///   - timeoutMilliseconds: the limit from a push to its outcome.
    public init(
        to relay: Server, tokens: ProviderTokenMaker?, on loop: EventLoop,
        timeoutMilliseconds: Int = 20_000, bounds: RequestClient.Bounds = RequestClient.Bounds()
    ) {
        requests = RequestClient(to: relay, on: loop, bounds: bounds)
        self.loop = loop
        self.tokens = tokens
        self.timeoutMilliseconds = timeoutMilliseconds
    }

    /// The number of pushes without an outcome.
    public var openPushes: Int { requests.openRequests }

    /// Sends a push. `completion` is called once, on the loop, after this call has returned.
    /// - Throws: if the push cannot be started; `completion` is not called then.
    public func push(
        _ push: Push, completion: @escaping (Result<PushOutcome, ClientError>) -> Void
    ) throws(ClientError) {
        try send(makeHead(push), push.payload) { result in
            completion(result.map(PushOutcome.init(response:)))
        }
    }

    /// Closes the connection in order. Pushes under way fail.
    public func close() { requests.close() }

    func send(
        _ head: HeaderBlock, _ body: [UInt8], _ completion: @escaping RequestClient.Completion
    ) throws(ClientError) {
        try requests.send(
            head, body: body, timeoutMilliseconds: timeoutMilliseconds, completion: completion)
    }

    /// The head of a request, with the provider's token.
    func makeHead(_ method: String, _ path: String) -> HeaderBlock {
        var head = requests.makeHead(method, path)
        if let token = tokens?.token(at: Moment(milliseconds: loop.wallMilliseconds)) {
            head.addUnindexed("authorization", "bearer \(token)")
        }
        return head
    }

    private func makeHead(_ push: Push) -> HeaderBlock {
        let topic = push.topic?.text
        var head =
            push.channel == nil
            ? makeHead("POST", "/3/device/\(push.deviceToken)")
            : makeHead("POST", "/4/broadcasts/apps/\(topic ?? "")")
        if let channel = push.channel {
            head.addUnindexed("apns-channel-id", "\(channel)")
        } else if let topic {
            head.add("apns-topic", topic)
        }
        if let pushType = push.pushType { head.add("apns-push-type", pushType.rawValue) }
        if let priority = push.priority { head.add("apns-priority", String(priority.rawValue)) }
        switch push.expiration {
        case .nowOrNever: head.add("apns-expiration", "0")
        case .at(let moment): head.add("apns-expiration", String(moment.milliseconds / 1000))
        case nil: break
        }
        if let collapse = push.collapseIdentifier { head.addUnindexed("apns-collapse-id", collapse) }
        if let identity = push.identity { head.addUnindexed("apns-id", identity.description) }
        return head
    }
}

extension PushOutcome {
    private struct Body: Decodable {
        let reason: String?
        let timestamp: Int64?
    }

    /// Reads a response. If the body does not follow the contract, the reason stays unknown, except for what the
    /// relay's port for devices answers.
    init(response: RequestClient.Response) {
        let body =
            response.body.isEmpty ? nil : try? JSONDecoder().decode(Body.self, from: Data(response.body))
        self.init(
            status: response.status, identity: response.head.text(of: "apns-id"),
            reason: body?.reason ?? response.grpcMessage,
            timestamp: body?.timestamp.map(Moment.init(milliseconds:)))
    }
}
