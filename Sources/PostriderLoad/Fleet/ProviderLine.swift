import FoundationEssentials
import PostriderHTTP2
import PostriderNotifications
import PostriderTransport

/// A provider's connection: requests out, answers back, one for each.
final class ProviderLine: FleetLine {
    /// An answer that is no 200, until it is complete.
    private struct Refusal {
        var status: Int
        /// Whether it answers a remote procedure call, which no push is: 200 says nothing then.
        var isGRPC = false
        var body: [UInt8] = []
    }

    /// What an open stream is about.
    enum Exchange {
        /// A push, by its number.
        case push(UInt64)
        /// A broadcast, sent at this moment.
        case broadcast(UInt64)
    }

    private var exchanges = StreamTable<Exchange>()
    private var refusals: [Int32: Refusal] = [:]
    /// How many streams the server takes at once; it is believed to take one until it has spoken.
    private var streamLimit = 1
    private let mostStreams: Int
    private var isEnding = false
    /// Whether it was established once: its end is not that of an attempt.
    private(set) var hasOpened = false

    init(of worker: Worker, streams: Int) {
        var settings = SessionSettings()
        settings.maxHeaderListBytes = 65_536
        mostStreams = streams
        super.init(of: worker, settings: settings)
    }

    /// Whether another request can be made now.
    var hasRoom: Bool { wire != nil && !isEnding && exchanges.count < min(streamLimit, mostStreams) }

    /// Makes a request. False: the connection takes no more.
    func send(_ head: HeaderBlock, _ body: [UInt8], _ exchange: Exchange) -> Bool {
        do throws(SessionError) {
            exchanges.add(exchange, for: try streams.request(head, body: body))
        } catch {
            isEnding = true
            close()
            return false
        }
        setNeedsFlush()
        return true
    }

    override func opened() {
        hasOpened = true
        worker.providerOpened()
    }

    override func headers(_ stream: Int32, _ block: inout HeaderBlock, kind: BlockKind, endStream: Bool) {
        guard kind == .head else { return }
        var (status, isGRPC) = (0, false)
        block.forEach { name, value in
            // `:status` is the only pseudo-header field of an answer (RFC 9113, section 8.3.2).
            guard status == 0, name[0] == UInt8(ascii: ":") else {
                if name.spells("content-type") { isGRPC = value.begins(with: "application/grpc") }
                return
            }
            for index in value.indices { status = status * 10 + Int(value[index] &- 0x30) }
        }
        if status == 200, !isGRPC {
            guard let exchange = exchanges.remove(stream) else { return }
            worker.accepted(exchange)
        } else {
            refusals[stream] = Refusal(status: status, isGRPC: isGRPC)
        }
    }

    override func data(_ stream: Int32, _ bytes: Span<UInt8>) {
        guard let count = refusals[stream]?.body.count, count + bytes.count <= 4096 else { return }
        refusals[stream]?.body.append(copying: bytes)
    }

    override func ended(_ stream: Int32) {
        guard let refusal = refusals.removeValue(forKey: stream),
            let exchange = exchanges.remove(stream)
        else { return }
        worker.refused(exchange, Self.reason(refusal))
    }

    override func closed(_ stream: Int32, errorCode: UInt32) {
        refusals[stream] = nil
        guard let exchange = exchanges.remove(stream) else { return }
        if errorCode == ErrorCode.refusedStream {
            worker.refused(exchange, "stream refused")
        } else {
            worker.unanswered(exchange)
        }
    }

    override func goawayReceived(lastStream: Int32, errorCode: UInt32, debug: [UInt8]) { isEnding = true }

    override func settingsReceived(maxConcurrentStreams: UInt32) {
        streamLimit = Int(clamping: maxConcurrentStreams)
        worker.needsPump = true
    }

    override func ended(_ reason: CloseReason) { worker.providerEnded(self, reason) }

    private static func reason(_ refusal: Refusal) -> String {
        guard !refusal.isGRPC else { return "answered as gRPC: no provider API" }
        struct Body: Decodable { let reason: String? }
        let body = try? JSONDecoder().decode(Body.self, from: Data(refusal.body))
        return body?.reason ?? "status \(refusal.status)"
    }
}

/// The heads of requests, made once for each topic; each request writes its own path and identity over them.
struct RequestHeads {
    private static let pathField = 3
    private static let identityField = 4
    private static let pathPrefix = "/3/device/"

    private let scheme: StaticString = "https"
    private let authority: String
    private let topics: [Topic]
    private let tokenDigits: Int
    private var authorization: String?
    /// For each topic, that of a push which is stored and that of one which is now or never.
    private var pushes: [HeaderBlock] = []
    private var identity = [UInt8](repeating: 0, count: NotificationIdentity.textByteCount)

    /// - Parameter tokenDigits: hexadecimal digits of every device token.
    init(authority: String, topics: [Topic], tokenDigits: Int) {
        self.authority = authority
        self.topics = topics
        self.tokenDigits = tokenDigits
    }

    /// Has requests carry this provider token from now on; nil: none.
    mutating func authorize(_ token: String?) {
        authorization = token.map { "bearer \($0)" }
        let blank = String(repeating: "0", count: tokenDigits)
        pushes = topics.flatMap { topic in
            var head = makeHead(Self.pathPrefix + blank)
            head.add("apns-topic", topic.text)
            head.add("apns-push-type", "alert")
            head.add("apns-priority", "10")
            var fleeting = head
            fleeting.add("apns-expiration", "0")
            // The end of 2999: as long as the server keeps it.
            head.add("apns-expiration", "32503679999")
            return [head, fleeting]
        }
    }

    /// The head of a push. `token`: where its digits lie in `tokens`.
    mutating func push(
        _ mark: PushMark, app: Int, isStored: Bool, token: Span<UInt8>
    ) -> HeaderBlock {
        mark.write(into: &identity)
        let text = identity
        let place = app * 2 + (isStored ? 0 : 1)
        pushes[place].overwrite(Self.pathField, at: Self.pathPrefix.utf8.count, with: token)
        pushes[place].overwrite(Self.identityField, at: 0, with: text.span)
        return pushes[place]
    }

    /// The head of a broadcast to a channel of the first app.
    func broadcast(_ mark: PushMark, channel: ChannelIdentity) -> HeaderBlock {
        var head = makeHead("/4/broadcasts/apps/\(topics[0].text)", mark)
        head.add("apns-channel-id", "\(channel)")
        head.add("apns-push-type", "liveactivity")
        head.add("apns-priority", "10")
        head.add("apns-expiration", "0")
        return head
    }

    private func makeHead(_ path: String, _ mark: PushMark? = nil) -> HeaderBlock {
        var head = HeaderBlock()
        head.add(":method", "POST")
        head.add(":scheme", scheme)
        head.add(":authority", authority)
        head.addUnindexed(":path", path)
        let identity = (mark ?? PushMark(moment: 0, run: 0, device: 0, number: 0)).identity
        head.addUnindexed("apns-id", String(decoding: identity.lowerCaseText, as: UTF8.self))
        if let authorization { head.add("authorization", authorization) }
        return head
    }
}
