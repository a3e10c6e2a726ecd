import FoundationEssentials
import PostriderHTTP2
import PostriderNotifications
public import PostriderTransport

/// A provider: pushes over one connection, as many at a time as the relay takes.
///
/// It belongs to the thread of its loop. When its connection has ended, make another one.
public final class ProviderClient {
    private let requests: RequestClient
    private let loop: EventLoop
    private let timeoutMilliseconds: Int
    private var tokens: ProviderTokenMaker?

    /// Called once, when the connection is gone and every completion has been called.
    public var onClose: ((CloseReason) -> Void)? {
        get { requests.onClose }
        set { requests.onClose = newValue }
    }

    /// Begins to connect. Pushes may be made at once.
    /// - Parameters:
    ///   - tokens: nil where a certificate says who the provider is.
    ///   - timeoutMilliseconds: from a push to its outcome.
    public init(
        to relay: Server, tokens: ProviderTokenMaker?, on loop: EventLoop,
        timeoutMilliseconds: Int = 20_000, bounds: RequestClient.Bounds = RequestClient.Bounds()
    ) {
        requests = RequestClient(to: relay, on: loop, bounds: bounds)
        self.loop = loop
        self.tokens = tokens
        self.timeoutMilliseconds = timeoutMilliseconds
    }

    /// Pushes whose outcome is not known yet.
    public var openPushes: Int { requests.openRequests }

    /// Pushes. `completion` is called once, on the loop, after this call has returned.
    /// - Throws: when the push cannot even begin; `completion` is not called then.
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

    /// Reads an answer. A body that is not what the contract says leaves the reason unknown, but for what the port of
    /// devices has to say.
    init(response: RequestClient.Response) {
        let body =
            response.body.isEmpty ? nil : try? JSONDecoder().decode(Body.self, from: Data(response.body))
        self.init(
            status: response.status, identity: response.head.text(of: "apns-id"),
            reason: body?.reason ?? response.grpcMessage,
            timestamp: body?.timestamp.map(Moment.init(milliseconds:)))
    }
}
