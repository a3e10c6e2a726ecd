import PostriderCourier
import PostriderCrypto
import PostriderEndpoints
import PostriderHTTP2
import PostriderNotifications
import PostriderProviderAPI
import PostriderTransport

/// One provider's connection: requests in, answers out. It lives on the shard that accepted it.
///
/// Each request is answered once, in one of the two forms that clients rely on (the contract's section 1.5): a 200 is
/// HEADERS with END_STREAM and nothing else, an error is HEADERS and exactly one DATA frame with END_STREAM.
final class ProviderSession: EndpointOwner, ObservedSession {
    /// The connection's number, by which answers find it. It is never used again.
    let number: UInt64
    /// The environment of its pushes.
    let environment: Environment
    /// The provider connections of its shard, which release it when it ends.
    let connections: ProviderConnections
    private(set) lazy var endpoint = HTTP2Handler(
        role: .server,
        settings: .providers(connections.requestHeaders, isObserved: connections.bench != nil), owner: self)
    /// The requests without an answer.
    var exchanges = StreamTable<PushRequest>()
    /// Streams on which the list of all channels, or of devices, was asked for, until they are closed.
    var listings: Set<Int32> = []
    private let admission: PushValidator
    /// Captures its requests and applies rules to them; nil on a relay in production.
    private(set) var observed: ObservedConnection?
    var credentials = ProviderCredentials()
    private var idleness: ProviderIdleness
    private(set) var isDraining = false
    /// Whether no push has been answered.
    private var isFirstAnswer = true
    /// Whether the provider was told that it may have one stream open, and not yet that it may have more.
    private var isHeldBack = false

    init(environment: Environment, among connections: ProviderConnections) {
        let context = connections.context
        number = context.drawNumber()
        self.environment = environment
        self.connections = connections
        admission = PushValidator(
            tokens: connections.tokens, seal: context.codec, topics: connections.topics,
            environment: environment, callbacks: connections.callbacks)
        idleness = ProviderIdleness(since: context.scheduler.now)
        observed = connections.bench.map { ObservedConnection($0, of: self) }
    }

    /// The context of its shard.
    var context: ShardContext { connections.context }

    /// Sends the answer to a push. If its stream was reset meanwhile, nothing is sent.
    func answer(_ stream: Int32, _ verdict: PushResult) {
        guard let request = exchanges[stream], case .waiting = request.phase else {
            observed?.answer(stream, verdict)
            return
        }
        if case .rejected(let rejection, _) = verdict { noteRefused(rejection, request, of: nil) }
        respond(stream, verdict, request)
    }

    /// Answers open requests, and answers new pushes with 503 `Shutdown` until the provider has had time to learn that
    /// it must begin no more.
    func drain() {
        isDraining = true
        endpoint.closeWhenAnswered(.localClose, debug: Rejection.shutdown.body(), settles: true)
    }

    /// The relay's settings were changed by a reload.
    func settingsChanged() { idleness.check(afterMilliseconds: connections.idleMilliseconds) }

    // MARK: EndpointOwner

    func opened() {
        let timer = context.scheduler.makeTimer { [unowned self] in checkIdle() }
        idleness.begin(timer, afterMilliseconds: connections.idleMilliseconds)
        connections.sessions.add(self)
        if let captures = observed?.captures {
            endpoint.inputObserver = { [unowned captures] in captures.arrived($0) }
        }
        guard !context.isDraining else { return drain() }
        do throws(Rejection) {
            try credentials.adopt(
                endpoint.peer?.certificate.map {
                    ProviderCertificate(der: $0.der, isVerified: $0.isVerified)
                },
                in: environment)
        } catch {
            return endpoint.close(.localClose, debug: error.body())
        }
        // A certificate is known by now, and authenticates the whole connection.
        guard connections.compatibility.rampsStreamLimit, !credentials.hasAuthenticated else { return }
        isHeldBack = true
        endpoint.streams.announceStreamLimit(1)
    }

    func headers(_ stream: Int32, _ block: inout HeaderBlock, kind: BlockKind, endStream: Bool) {
        guard kind == .head else { return }
        let request = connections.takeRequest()
        let random = context.random
        request.begin(&block) { NotificationIdentity(random: random.next(), random.next()) }
        exchanges.add(request, for: stream)
        idleness.requestBegan(at: context.scheduler.now)
        if request.isOfDevice { refuseDevice(stream) }
    }

    func data(_ stream: Int32, _ bytes: Span<UInt8>) {
        observed?.captures.effects.received(bytes.count, on: stream, of: endpoint.streams)
        guard let request = exchanges[stream], case .receiving = request.phase else { return }
        request.append(bytes)
        guard request.bodyByteCount > Limits.drainedBodyBytes else { return }
        forget(stream)
        endpoint.streams.reset(stream, errorCode: ErrorCode.enhanceYourCalm)
    }

    func ended(_ stream: Int32) {
        guard let request = exchanges[stream], case .receiving = request.phase else { return }
        request.endedAt = context.scheduler.now
        // The identifier by which Apple's console finds a notification. Production answers do not contain it.
        request.uniqueIdentity =
            environment == .development
            ? NotificationIdentity(random: context.random.next(), context.random.next()) : nil
        observed?.began(request, stream)
        if let observed, observed.passesOn {
            observed.passOn(request, stream)
        } else if isAboutChannels(request) {
            takeOrder(request, stream)
        } else if isLookup(request) {
            takeLookup(request, stream)
        } else if let observed {
            observed.take(request, stream)
        } else if let rejection = take(request, stream) {
            noteRefused(rejection, request)
            respond(stream, .rejected(rejection), request)
        }
    }

    func closed(_ stream: Int32, errorCode: UInt32) {
        forget(stream)
        if !listings.isEmpty { listings.remove(stream) }
    }

    func goawayReceived(lastStream: Int32, errorCode: UInt32, debug: [UInt8]) {
        context.providerEnds.noteGoaway(errorCode, debug, from: endpoint.peer)
    }

    func disconnected(_ reason: CloseReason, from peer: Peer?) {
        connections.sessions.remove(self)
        idleness.end()
        observed?.noteAbandoned()
        context.providerEnds.note(reason, of: peer)
    }

    // MARK: Requests

    /// Validates a complete request and sends it to the device's home. Returns the rejection if that is not possible.
    private func take(_ request: PushRequest, _ stream: Int32) -> Rejection? {
        guard !isDraining else { return .shutdown }
        do throws(Rejection) {
            let notification = try admit(request)
            request.phase = .waiting
            return post(notification, stream)
        } catch {
            return error
        }
    }

    /// The notification of a complete request.
    func admit(_ request: PushRequest) throws(Rejection) -> Notification {
        let context = context
        let notification = try admission.admit(
            request, &credentials, by: context.policy, isStrict: connections.compatibility.isStrict,
            now: context.now)
        try context.charge(request, notification.topic, payloadBytes: notification.payload.count)
        return notification
    }

    /// The request on a stream; nil if it is answered or closed.
    func request(on stream: Int32) -> PushRequest? { exchanges[stream] }

    /// Sends a push to its device's home. Returns the rejection if that is not possible.
    func post(_ notification: Notification, _ stream: Int32) -> Rejection? {
        let address = ReplyAddress(shard: Int32(context.index), stream: stream, connection: number)
        return connections.home.route(notification, address)
    }

    /// Notes in the trace that a request was refused.
    func noteRefused(_ reason: Rejection, _ request: PushRequest) {
        noteRefused(reason, request, of: request.text(.topic).flatMap(Topic.init))
    }

    private func noteRefused(
        _ reason: Rejection, _ request: PushRequest, of topic: @autoclosure () -> Topic?
    ) {
        context.noteRefused(reason, of: request.identity, topic: topic(), in: environment, on: number)
    }

    /// The stream is answered or closed.
    func forget(_ stream: Int32) {
        guard let request = exchanges.remove(stream) else { return }
        request.rest()
        connections.recycle(request)
    }

    func respond(_ stream: Int32, _ verdict: PushResult, _ request: PushRequest) {
        raiseStreamLimit()
        let connections = connections
        let context = connections.context
        let endpoint = endpoint
        context.measures.count(verdict, nanoseconds: context.scheduler.now - request.endedAt)
        connections.send(verdict, to: request, on: stream, of: endpoint, isFirst: isFirstAnswer)
        isFirstAnswer = false
        forget(stream)
    }

    /// An authenticated provider may have as many streams open as any other. It is told with the next flush: if that
    /// came later, aapns would queue requests on its side until it gives up.
    func raiseStreamLimit() {
        // Asked second, because that copies the credentials, and this runs for each answer.
        if isHeldBack, credentials.hasAuthenticated { raiseStreamLimitOfAuthenticated() }
    }

    /// Lets a provider that another server has authenticated have as many streams open as any other.
    func raiseStreamLimitOfAuthenticated() {
        guard isHeldBack else { return }
        isHeldBack = false
        endpoint.streams.updateMaxConcurrentStreams(Limits.providerStreams)
    }

    /// Refuses a device that has connected to this port by mistake: by gRPC and at once, because it does not end its
    /// stream before it gets an answer.
    private func refuseDevice(_ stream: Int32) {
        endpoint.streams.respond(stream, .refusalOfDevice)
        forget(stream)
    }

    private func checkIdle() {
        // A provider with nothing to push may send PINGs all the same; gorush does every second.
        endpoint.streams.forgiveEmptyFrames()
        let isOver = idleness.isOver(
            at: context.scheduler.now, afterMilliseconds: connections.idleMilliseconds,
            hasRequests: !exchanges.isEmpty)
        if isOver { endpoint.closeWhenAnswered(.idleTimeout, debug: Rejection.idleTimeout.body()) }
    }
}

extension SessionSettings {
    /// The settings of a provider's connection.
    fileprivate static func providers(
        _ requestHeaders: ProtocolCode.RequestHeaders, isObserved: Bool
    ) -> SessionSettings {
        var settings = SessionSettings()
        // Rules may keep windows closed.
        settings.automaticWindowUpdates = !isObserved
        settings.readsHeaderBlocks = requestHeaders == .own
        settings.maxConcurrentStreams = Limits.providerStreams
        settings.maxHeaderListBytes = Limits.headerListBytes
        settings.maxHeaderFields = Limits.headerFields
        // As Apple's servers say.
        settings.http1Greeting = "Unexpected HTTP/1.x request: "
        return settings
    }
}

extension HeaderBlock {
    /// The answer to a device, which speaks gRPC.
    fileprivate static var refusalOfDevice: HeaderBlock {
        let message =
            "Providers connect to this port; devices have one of their own, 5223 if not set otherwise."
        var block: HeaderBlock = [":status": "404", "content-type": "application/grpc"]
        GRPCResponse.add(.unimplemented, message, to: &block)
        return block
    }
}
