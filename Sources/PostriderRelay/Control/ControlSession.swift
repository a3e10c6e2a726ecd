import PostriderEndpoints
import PostriderHTTP2
import PostriderNotifications
import PostriderProviderAPI
import PostriderTransport

/// One connection of the control socket. Only root and the user who runs the relay may use it; the kernel says who is
/// connected (SO_PEERCRED).
final class ControlSession: EndpointOwner {
    let handler: ControlHandler
    private let pushes: ControlPushes
    private let user: UInt32
    private let audit: (@Sendable (OperatorChange) -> Void)?
    private let log: Log
    private(set) lazy var endpoint = HTTP2Handler(role: .server, settings: Self.settings, owner: self)
    private var requests: [Int32: (method: String, path: String, body: [UInt8])] = [:]
    private var isOpen = true
    /// Pushes that have not been answered.
    private var pushRequests: [Int32: PushRequest] = [:]
    /// The streams on which the events of devices are followed, with the followers' numbers.
    private var followed: [Int32: Int] = [:]
    /// The streams on which captures are followed, with the followers' numbers.
    var followedCaptures: [Int32: Int] = [:]
    /// The `last-event-id` of the requests that have one.
    var lastEvents: [Int32: String] = [:]

    /// The longest body of a request, in bytes. The largest possible one adds a key for the most topics, each of the
    /// greatest length.
    private static let bodyBytes = 131_072

    private static let settings: SessionSettings = {
        var settings = SessionSettings()
        settings.maxConcurrentStreams = 32
        settings.maxOutboundBytes = Limits.controlAnswerBytes
        return settings
    }()

    /// A session whose requests `handler` answers. `user` is the user who runs the relay, and `audit` records changes.
    init(
        _ handler: ControlHandler, _ pushes: ControlPushes, user: UInt32,
        audit: (@Sendable (OperatorChange) -> Void)? = nil, log: Log
    ) {
        self.audit = audit
        self.handler = handler
        self.pushes = pushes
        self.user = user
        self.log = log
    }

    func opened() {
        let caller = endpoint.peer?.credentials?.user
        guard caller == user || caller == 0 else {
            let name = caller.map(String.init) ?? "unknown"
            log.warning("the control socket refused user \(name)", kind: "control socket", from: name)
            endpoint.close(.refused("not the relay's user"))
            return
        }
    }

    func headers(_ stream: Int32, _ block: inout HeaderBlock, kind: BlockKind, endStream: Bool) {
        guard kind == .head, let method = block.text(of: ":method"), let path = block.text(of: ":path") else {
            return
        }
        guard !path.hasPrefix("/3/device/") else {
            let (request, random) = (PushRequest(), handler.context.random)
            request.begin(&block) { NotificationIdentity(random: random.next(), random.next()) }
            pushRequests[stream] = request
            return
        }
        requests[stream] = (method, path, [])
        lastEvents[stream] = block.text(of: "last-event-id")
    }

    func data(_ stream: Int32, _ bytes: Span<UInt8>) {
        if let request = pushRequests[stream] { return append(bytes, to: request, stream) }
        guard let count = requests[stream]?.body.count else { return }
        guard count + bytes.count <= Self.bodyBytes else {
            requests[stream] = nil
            endpoint.streams.reset(stream, errorCode: ErrorCode.enhanceYourCalm)
            return
        }
        requests[stream]?.body.append(copying: bytes)
    }

    func ended(_ stream: Int32) {
        if let request = pushRequests[stream] { return push(request, stream) }
        guard let request = requests[stream] else { return }
        if request.method == "GET", request.path == "/v1/devices/events" {
            return follow(handler.events, on: stream)
        }
        if request.method == "GET", let query = Self.captureEvents(request.path) {
            return followCaptures(query, on: stream)
        }
        let credentials = endpoint.peer?.credentials
        var change = OperatorChange(
            request.method, request.path, body: request.body,
            by: OperatorChange.Caller(user: credentials?.user, process: credentials?.process),
            at: handler.context.now)
        handler.handle(request.method, request.path, body: request.body) { [self] answer in
            // A change is recorded even if the caller has gone.
            change?.end(answer)
            if let change { audit?(change) }
            respond(stream, answer)
        }
    }

    func closed(_ stream: Int32, errorCode: UInt32) {
        requests[stream] = nil
        pushRequests[stream] = nil
        lastEvents[stream] = nil
        leaveCaptures(stream)
        if let number = followed.removeValue(forKey: stream) { handler.events.leave(number) }
    }

    func goawayReceived(lastStream: Int32, errorCode: UInt32, debug: [UInt8]) {}

    func disconnected(_ reason: CloseReason) { isOpen = false }

    private func append(_ bytes: Span<UInt8>, to request: PushRequest, _ stream: Int32) {
        request.append(bytes)
        guard request.bodyByteCount > Limits.drainedBodyBytes else { return }
        pushRequests[stream] = nil
        endpoint.streams.reset(stream, errorCode: ErrorCode.enhanceYourCalm)
    }

    /// Pushes, and answers as the provider API does.
    private func push(_ request: PushRequest, _ stream: Int32) {
        pushes.push(request) { [self] result in
            guard isOpen, pushRequests.removeValue(forKey: stream) != nil else { return }
            var head = HeaderBlock()
            switch result {
            case .accepted:
                head.add(":status", "200")
                request.addEcho(to: &head, isFirst: true)
                endpoint.streams.respond(stream, head)
            case .rejected(let rejection, let since):
                head.add(":status", String(rejection.status))
                head.add("content-type", "application/json")
                request.addEcho(to: &head, isFirst: true)
                endpoint.streams.respond(
                    stream, head, body: request.isHead ? nil : rejection.body(since: since))
            }
        }
    }

    /// Sends the events of devices from now on, until the caller ends the stream or takes too little of it.
    private func follow(_ events: DeviceEventFeed, on stream: Int32) {
        let number = events.follow { [unowned self] bytes in
            guard endpoint.streams.outboundBytes(stream) <= Limits.eventStreamBytes else {
                endpoint.streams.reset(stream, errorCode: ErrorCode.enhanceYourCalm)
                return false
            }
            endpoint.streams.send(stream, bytes.span)
            return true
        }
        guard let number else {
            let sentence =
                "\(Limits.eventStreams) programs follow the events of devices already: end one of them."
            return respond(stream, ControlHandler.refusal(503, sentence))
        }
        followed[stream] = number
        beginEvents(on: stream, ": events follow\n\n")
    }

    /// Begins an answer of server-sent events with a comment. A caller that has read it misses no later event.
    func beginEvents(on stream: Int32, _ comment: String) {
        var head = HeaderBlock()
        head.add(":status", "200")
        head.add("content-type", "text/event-stream")
        head.add("cache-control", "no-store")
        endpoint.streams.openResponse(stream, head)
        endpoint.streams.send(stream, Array(comment.utf8).span)
    }

    /// The answer itself, or a sentence if it is longer than what may be sent at once.
    static func fitting(_ answer: ControlHandler.Answer) -> ControlHandler.Answer {
        guard answer.body.count > Limits.controlAnswerBytes else { return answer }
        let (has, most) = (answer.body.count >> 20, Limits.controlAnswerBytes >> 20)
        return ControlHandler.refusal(
            503, "The answer has \(has) MiB, more than the \(most) MiB that are sent at once: ask for less.")
    }

    /// Answers, unless the caller has gone.
    func respond(_ stream: Int32, _ answer: ControlHandler.Answer) {
        guard isOpen, let request = requests[stream] else { return }
        let answer = Self.fitting(answer)
        // An answer to HEAD must be without a body (RFC 9110, section 9.3.2).
        let body = request.method == "HEAD" ? [] : answer.body
        endpoint.answer(stream, status: answer.status, json: body.span)
    }
}
