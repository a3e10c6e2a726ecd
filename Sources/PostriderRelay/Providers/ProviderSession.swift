import PostriderCourier
import PostriderCrypto
import PostriderEndpoints
import PostriderHTTP2
import PostriderNotifications
import PostriderTransport

/// One provider's connection: requests in, answers out. It lives on the shard that accepted it.
///
/// A request is answered once, in one of the two shapes that clients silently rely on (the contract's section
/// 1.5): a 200 is HEADERS with END_STREAM and nothing else, an error is HEADERS and exactly one DATA frame
/// with END_STREAM.
final class ProviderSession: EndpointOwner {
    /// The connection's number, never used again, by which answers find it.
    let number: UInt64
    /// What its pushes are for.
    let environment: Environment
    /// Its shard's connections, which let go of this when the connection ends.
    let connections: ProviderConnections
    private(set) lazy var endpoint = HTTP2Handler(
        role: .server, settings: Self.settings(connections.requestHeaders), owner: self)
    /// The requests that have not been answered.
    var exchanges = StreamTable<PushRequest>()
    /// Streams on which all channels of an app were asked for, until they are closed.
    var listings: Set<Int32> = []
    private let admission: PushValidator
    /// What captures its requests and has rules decide about them; nil: nothing does, as in production.
    let observer: RequestObserver?
    var credentials = ProviderCredentials()
    private var idleTimer: (any LoopTimer)?
    private var lastRequestAt: UInt64
    private(set) var isDraining = false
    /// Whether no push has been answered.
    private var isFirstAnswer = true
    /// Whether the provider was told that it may have one stream open, and not yet that it may have them all.
    private var isHeldBack = false

    /// How often the connection is looked at, at the least.
    private static let lookMilliseconds = 10 * 60 * 1000

    private static func settings(_ requestHeaders: ProtocolCode.RequestHeaders) -> SessionSettings {
        var settings = SessionSettings()
        settings.readsHeaderBlocks = requestHeaders == .own
        settings.maxConcurrentStreams = Limits.providerStreams
        settings.maxHeaderListBytes = Limits.headerListBytes
        settings.maxHeaderFields = Limits.headerFields
        // As at Apple.
        settings.http1Greeting = "Unexpected HTTP/1.x request: "
        return settings
    }

    init(environment: Environment, among connections: ProviderConnections) {
        let context = connections.context
        number = context.drawNumber()
        self.environment = environment
        self.connections = connections
        admission = PushValidator(
            tokens: connections.tokens, seal: context.codec, topics: connections.topics,
            environment: environment, fidelity: connections.compatibility)
        lastRequestAt = context.scheduler.now
        observer = connections.bench.map { RequestObserver($0) }
    }

    /// What the parts of its shard share.
    var context: ShardContext { connections.context }

    /// Tells the provider what became of a push. One that was reset meanwhile is forgotten.
    func answer(_ stream: Int32, _ verdict: PushResult) {
        guard let request = exchanges[stream], case .waiting = request.phase else {
            if let observer { answer(stream, verdict, observedBy: observer) }
            return
        }
        if case .rejected(let rejection, _) = verdict { noteRefused(rejection, request, topic: nil) }
        respond(stream, verdict, request)
    }

    /// Answers what is open, and new pushes with 503 `Shutdown`, until the provider has had the time to learn that it
    /// is to begin no more of them.
    func drain() {
        isDraining = true
        endpoint.closeWhenAnswered(.localClose, debug: Rejection.shutdown.body(), settles: true)
    }

    // MARK: EndpointOwner

    func opened() {
        idleTimer = context.scheduler.makeTimer { [unowned self] in checkIdle() }
        lookAgain(afterMilliseconds: connections.idleMilliseconds)
        connections.sessions.add(self)
        do throws(Rejection) {
            try credentials.adopt(
                endpoint.peer?.certificate.map(ProviderCertificate.init), in: environment)
        } catch {
            return endpoint.close(.localClose, debug: error.body())
        }
        // A certificate is known by now, and is all the proof there will be.
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
        lastRequestAt = context.scheduler.now
        if request.isOfDevice { refuseDevice(stream) }
    }

    func data(_ stream: Int32, _ bytes: Span<UInt8>) {
        guard let request = exchanges[stream], case .receiving = request.phase else { return }
        request.append(bytes)
        guard request.bodyByteCount > Limits.drainedBodyBytes else { return }
        forget(stream)
        endpoint.streams.reset(stream, errorCode: ErrorCode.enhanceYourCalm)
    }

    func ended(_ stream: Int32) {
        guard let request = exchanges[stream], case .receiving = request.phase else { return }
        request.endedAt = context.scheduler.now
        // What Apple's console finds a notification by; in production it is not told.
        request.uniqueIdentity =
            environment == .development
            ? NotificationIdentity(random: context.random.next(), context.random.next()) : nil
        if let observer {
            take(request, stream, observedBy: observer)
        } else if isAboutChannels(request) {
            takeOrder(request, stream)
        } else if let rejection = take(request, stream) {
            noteRefused(rejection, request, topic: request.text(.topic).flatMap(Topic.init))
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
        idleTimer = nil
        if let observer { noteAbandoned(observer) }
        context.providerEnds.note(reason, of: peer)
    }

    // MARK: A request's way

    /// Admits a complete request and sends it to the device's home, or tells why not.
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

    /// The notification that a complete request stands for.
    func admit(_ request: PushRequest) throws(Rejection) -> Notification {
        let context = context
        return try admission.admit(request, &credentials, by: context.policy, now: context.now)
    }

    /// Sends a push to its device's home, or tells why not.
    func post(_ notification: Notification, _ stream: Int32) -> Rejection? {
        let context = context
        let home = context.home(of: notification.device)
        guard !context.outbox.isCongested(home) else { return .tooManyRequests }
        let address = ReplyAddress(shard: Int32(context.index), stream: stream, connection: number)
        if home == context.index {
            connections.home.offer(notification, address)
        } else {
            context.outbox.send(.push(.deliver(notification, address)), to: home)
        }
        return nil
    }

    func noteRefused(
        _ reason: Rejection, _ request: PushRequest, topic: @autoclosure () -> Topic?
    ) {
        context.trace.note(at: context.now) {
            TraceRefusal(
                reason, at: context.now, of: request.identity, topic: topic(), in: environment,
                on: TraceEvent.connection(number, ofShard: context.index))
        }
    }

    /// The stream is answered, or never will be.
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
        connections.reply.removeAll()
        switch verdict {
        case .accepted where request.uniqueIdentity == nil:
            request.withEcho { endpoint.streams.respondOK(stream, "apns-id", $0) }
        case .accepted:
            connections.reply.add(":status", "200")
            request.addEcho(to: &connections.reply, isFirst: isFirstAnswer)
            if let unique = request.uniqueIdentity {
                let letters = unique.letters(letterA: UInt8(ascii: "a"))
                connections.reply.addUnindexed("apns-unique-id", letters.span)
            }
            endpoint.streams.respond(stream, connections.reply)
        case .rejected(let rejection, let since):
            connections.reply.add(":status", String(rejection.status))
            connections.reply.add("content-type", "application/json")
            request.addEcho(to: &connections.reply, isFirst: isFirstAnswer)
            let body = rejection.body(
                since: since, usesLiveSpellings: connections.compatibility.usesLiveSpellings)
            endpoint.streams.respond(stream, connections.reply, body: request.isHead ? nil : body)
        }
        isFirstAnswer = false
        forget(stream)
    }

    /// A provider that is known may have as many streams open as any other, from this flush on: one that is held back
    /// for longer sends into its own queue until it gives up (aapns).
    func raiseStreamLimit() {
        guard isHeldBack, credentials.hasAuthenticated else { return }
        isHeldBack = false
        endpoint.streams.updateMaxConcurrentStreams(Limits.providerStreams)
    }

    /// Refuses a device that has taken this port for its own, by gRPC and at once: it does not end its stream before it
    /// has heard something.
    private func refuseDevice(_ stream: Int32) {
        let message =
            "Providers connect to this port; devices have one of their own, 5223 if not set otherwise."
        var block: HeaderBlock = [":status": "404", "content-type": "application/grpc"]
        GRPCResponse.add(.unimplemented, message, to: &block)
        endpoint.streams.respond(stream, block)
        forget(stream)
    }

    private func lookAgain(afterMilliseconds interval: Int) {
        idleTimer?.arm(afterMilliseconds: min(interval, Self.lookMilliseconds))
    }

    private func checkIdle() {
        // Who has nothing to push may ask for signs of life all the same, gorush every second.
        endpoint.streams.forgiveEmptyFrames()
        let idleMilliseconds = Int((context.scheduler.now - lastRequestAt) / 1_000_000)
        guard idleMilliseconds >= connections.idleMilliseconds, exchanges.isEmpty else {
            return lookAgain(afterMilliseconds: max(1000, connections.idleMilliseconds - idleMilliseconds))
        }
        endpoint.closeWhenAnswered(.idleTimeout, debug: Rejection.idleTimeout.body())
    }
}
