import PostriderEndpoints
import PostriderHTTP2
import PostriderNotifications
import PostriderProviderAPI
import PostriderTransport

/// One connection of the operator's interface: of the control socket, or of the console. Its ``ControlAccess`` decides
/// who may do what.
final class ControlSession: EndpointOwner {
    /// A request that has not been answered.
    private struct Request {
        let method: String
        let path: String
        let decision: ControlDecision
        /// The number of the last event that the caller has, if it says so.
        let lastEvent: String?
        var body: [UInt8] = []
    }

    let handler: ControlHandler
    private let pushes: ControlPushes
    private let access: any ControlAccess
    private let audit: (@Sendable (OperatorChange) -> Void)?
    private(set) lazy var endpoint = HTTP2Handler(role: .server, settings: Self.settings, owner: self)
    private var requests: [Int32: Request] = [:]
    private var isOpen = true
    /// Pushes that have not been answered.
    private var pushRequests: [Int32: PushRequest] = [:]
    /// The streams on which the events of devices are followed, with the followers' numbers.
    private var followed: [Int32: Int] = [:]
    /// The streams on which captures are followed, with the followers' numbers.
    var followedCaptures: [Int32: Int] = [:]
    private var idleTimer: (any LoopTimer)?
    private var lastRequestAt: UInt64 = 0

    /// The longest body of a request, in bytes. The largest possible one adds a key for the most topics, each of the
    /// greatest length.
    private static let bodyBytes = 131_072

    private static let settings: SessionSettings = {
        var settings = SessionSettings()
        settings.maxConcurrentStreams = 32
        settings.maxOutboundBytes = Limits.controlAnswerBytes
        return settings
    }()

    /// A session whose requests `handler` answers. `audit` records changes.
    init(
        _ handler: ControlHandler, _ pushes: ControlPushes, _ access: any ControlAccess,
        audit: (@Sendable (OperatorChange) -> Void)? = nil
    ) {
        self.audit = audit
        self.handler = handler
        self.pushes = pushes
        self.access = access
    }

    func opened() {
        guard access.admits(endpoint.peer) else { return endpoint.close(.refused("not the relay's user")) }
        guard let idle = access.idleMilliseconds else { return }
        lastRequestAt = handler.context.scheduler.now
        idleTimer = handler.context.scheduler.makeTimer { [unowned self] in checkIdle(idle) }
        idleTimer?.arm(afterMilliseconds: idle)
    }

    func headers(_ stream: Int32, _ block: inout HeaderBlock, kind: BlockKind, endStream: Bool) {
        guard kind == .head, let method = block.text(of: ":method"), let path = block.text(of: ":path") else {
            return
        }
        lastRequestAt = handler.context.scheduler.now
        let decision = access.decide(method, path, block, from: endpoint.peer)
        if case .serve = decision, path.hasPrefix("/3/device/") {
            let (request, random) = (PushRequest(), handler.context.random)
            request.begin(&block) { NotificationIdentity(random: random.next(), random.next()) }
            pushRequests[stream] = request
            return
        }
        requests[stream] = Request(
            method: method, path: path, decision: decision, lastEvent: block.text(of: "last-event-id"))
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
        switch request.decision {
        case .serve(let caller): serve(request, for: caller, on: stream)
        case .answer(let response): respond(stream, response)
        case .read(let makeResponse): respond(stream, makeResponse(request.body))
        }
    }

    func closed(_ stream: Int32, errorCode: UInt32) {
        requests[stream] = nil
        pushRequests[stream] = nil
        leaveCaptures(stream)
        if let number = followed.removeValue(forKey: stream) { handler.events.leave(number) }
    }

    func goawayReceived(lastStream: Int32, errorCode: UInt32, debug: [UInt8]) {}

    func disconnected(_ reason: CloseReason, from peer: Peer?) {
        isOpen = false
        idleTimer = nil
        access.ended(reason, peer)
    }

    private func serve(_ request: Request, for caller: OperatorChange.Caller, on stream: Int32) {
        if request.method == "GET", request.path == "/v1/devices/events" {
            return follow(handler.events, on: stream)
        }
        if request.method == "GET", let query = Self.captureEvents(request.path) {
            return followCaptures(query, after: request.lastEvent, on: stream)
        }
        var change = OperatorChange(
            request.method, request.path, body: request.body, by: caller, at: handler.context.now)
        handler.handle(request.method, request.path, body: request.body) { [self] answer in
            // A change is recorded even if the caller has gone.
            change?.end(answer.status, answer.body)
            if let change { audit?(change) }
            respond(stream, ControlResponse(Self.fitting(answer)))
        }
    }

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
            switch result {
            case .accepted:
                var head = makeHead(200)
                request.addEcho(to: &head, isFirst: true)
                endpoint.streams.respond(stream, head)
            case .rejected(let rejection, let since):
                var head = makeHead(rejection.status, type: "application/json")
                request.addEcho(to: &head, isFirst: true)
                endpoint.streams.respond(
                    stream, head, body: request.isHead ? nil : rejection.body(since: since))
            }
        }
    }

    /// Sends the events of devices once other nodes are asked, until the caller ends the stream or takes too little of
    /// it.
    private func follow(_ events: DeviceEventFeed, on stream: Int32) {
        events.prepare { [weak self, weak events] in
            guard let events else { return }
            self?.beginFollowing(events, on: stream)
            events.endPreparation()
        }
    }

    private func beginFollowing(_ events: DeviceEventFeed, on stream: Int32) {
        guard isOpen, requests[stream] != nil else { return }
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
            return respond(stream, .refusal(503, sentence))
        }
        followed[stream] = number
        beginEvents(on: stream, ": events follow\n\n")
        events.tellMissing(number)
    }

    /// Begins an answer of server-sent events with a comment. A caller that has read it misses no later event.
    func beginEvents(on stream: Int32, _ comment: String) {
        var head = makeHead(200, type: "text/event-stream")
        if access.fields.isEmpty { head.add("cache-control", "no-store") }
        endpoint.streams.openResponse(stream, head)
        endpoint.streams.send(stream, Array(comment.utf8).span)
    }

    /// Closes the connection if it has had no request for so long.
    private func checkIdle(_ milliseconds: Int) {
        let passed = Int((handler.context.scheduler.now - lastRequestAt) / 1_000_000)
        guard passed >= milliseconds, requests.isEmpty, pushRequests.isEmpty else {
            idleTimer?.arm(afterMilliseconds: max(1000, milliseconds - passed))
            return
        }
        endpoint.closeWhenAnswered(.idleTimeout)
    }

    /// The answer itself, or a sentence if it is longer than what may be sent at once.
    static func fitting(_ answer: ControlHandler.Answer) -> ControlHandler.Answer {
        guard answer.body.count > Limits.controlAnswerBytes else { return answer }
        let (has, most) = (answer.body.count >> 20, Limits.controlAnswerBytes >> 20)
        return ControlHandler.refusal(
            503, "The answer has \(has) MiB, more than the \(most) MiB that are sent at once: ask for less.")
    }

    /// Answers, unless the caller has gone.
    func respond(_ stream: Int32, _ response: ControlResponse) {
        guard isOpen, let request = requests[stream] else { return }
        var head = makeHead(response.status, type: response.type)
        for field in response.fields { head.addUnindexed(field.name, field.value) }
        endpoint.streams.openResponse(stream, head)
        // An answer to HEAD must be without a body (RFC 9110, section 9.3.2).
        if request.method != "HEAD" { endpoint.streams.send(stream, response.body.span) }
        endpoint.streams.finish(stream)
    }

    private func makeHead(_ status: Int, type: String? = nil) -> HeaderBlock {
        var head = HeaderBlock()
        head.add(":status", String(status))
        if let type { head.add("content-type", type) }
        for field in access.fields { head.add(field.name, field.value) }
        return head
    }
}
