import PostriderCourier
import PostriderEndpoints
import PostriderHTTP2
import PostriderJSON
import PostriderNotifications
import PostriderTransport

/// What an application, on any thread, has to say to its link.
enum LinkCommand: Sendable {
    /// The application wants its notifications, or no longer: ``Application/takeWish()``.
    case wish
    /// The application wants what there is for it, token or not.
    case attach
    /// The user notification centre has asked something: ``Application/takeCalls(onNewStream:)``.
    case calls
    /// The application wants other channels: ``Application/takeChannelWishes()``.
    case channels
    /// Every observer of this notification has returned.
    case observed(NotificationIdentity)
    /// An observer of this notification has reported that it failed.
    case failed(NotificationIdentity, reason: String)
    /// Every observer has heard that the device sleeps, for the time of this number.
    case ready(sleep: UInt64)
    /// The application decides how alerts are presented, or does not: ``Application/decidesPresentation``.
    case presentationWish
    /// It has decided about one.
    case presented(Presentation)
    case stop
}

/// An application's connection to the agent, on a loop of its own. It returns whenever it is cut, until it is
/// stopped.
final class AgentLink: EndpointOwner {
    private unowned let loop: EventLoop
    private let address: SocketAddress
    private let topic: String
    private let environment: Environment
    /// The link does not keep the application alive: its end is the link's.
    private let application: () -> Application?

    private var endpoint: HTTP2Handler?
    private var stream: Int32?
    private var openedAt: UInt64?
    private var framing = MessageFraming(maxMessageBytes: Limits.relayMessageBytes)
    private var handOver = HandOver()
    /// Deliveries of the present stream that are to be told as handled at the end of this turn.
    private var handled: [UInt64] = []
    private var isWanted = false
    private var isAttached = false
    /// How many times the agent has yet to say that it has unregistered the topic as it was asked to.
    private var unregistersUnderWay = 0
    private var toldChannels: [ChannelIdentity: Bool] = [:]
    private var isStopping = false
    private var hasLeft = false
    private var backoff = Backoff(baseMilliseconds: 100, capMilliseconds: 5_000, stableMilliseconds: 10_000)
    private lazy var retry = loop.makeTimer { [unowned self] in connect() }
    private lazy var answer = AgentAnswer(at: address, on: loop, application)

    private static let requestHead: HeaderBlock = [
        ":method": "POST", ":scheme": "http", ":path": CourierMethod.attach.rawValue,
        ":authority": "localhost",
        "content-type": "application/grpc", "te": "trailers",
    ]

    init(
        on loop: EventLoop, to address: SocketAddress, topic: String, in environment: Environment,
        application: @escaping () -> Application?
    ) {
        self.loop = loop
        self.address = address
        self.topic = topic
        self.environment = environment
        self.application = application
    }

    /// Connects for the first time, or again.
    func connect() {
        answer.begin()
        var settings = SessionSettings()
        settings.connectionWindowSize = 65_535
        let endpoint = HTTP2Handler(role: .client, settings: settings, owner: self)
        self.endpoint = endpoint
        loop.connect(to: address, session: endpoint)
    }

    /// Works off what the application has said.
    func receive(_ letters: inout [LinkCommand]) {
        for letter in letters {
            switch letter {
            case .wish:
                isWanted = application()?.takeWish() ?? false
                ask()
                askForChannels()
            case .channels: askForChannels()
            case .attach:
                isAttached = true
                if stream != nil { say(.attach(topic: topic)) }
            case .calls: ask(onNewStream: false)
            case .observed(let identity):
                if let delivery = handOver.observed(identity) { handled.append(delivery) }
            case .failed(let identity, let reason):
                if let delivery = handOver.failed(identity) {
                    say(.failed(Failed(delivery: delivery, reason: reason)))
                }
            case .ready(let sleep): say(.ready(sleep: sleep))
            case .presentationWish: wishForPresentation()
            case .presented(let presentation): say(.presentation(presentation))
            case .stop:
                isStopping = true
                retry.disarm()
            }
        }
    }

    /// What was handled in this turn is said in one message; then, perhaps, goodbye.
    func endTurn() {
        if !handled.isEmpty {
            say(.handled(handled))
            handled.removeAll(keepingCapacity: true)
        }
        guard isStopping else { return }
        if !hasLeft {
            // In order: what has not been handled did not fail.
            if let stream { endpoint?.streams.finish(stream) }
            endpoint?.close(.localClose)
        }
        hasLeft = true
        // Not before the agent has closed too: what was said last would be lost with an early end.
        if loop.connectionCount == 0 { loop.stop() }
    }

    /// Tells the agent what is wanted.
    private func ask() {
        guard stream != nil else { return }
        if !isWanted { unregistersUnderWay += 1 }
        if !isWanted { toldChannels = [:] }
        say(isWanted ? .register(topic: topic, environment: environment) : .unregister(topic: topic))
    }

    /// Passes on what the user notification centre asks.
    private func ask(onNewStream isNew: Bool) {
        guard stream != nil else { return }
        for call in application()?.takeCalls(onNewStream: isNew) ?? [] { say(.center(call)) }
    }

    /// Tells the agent which channels are wanted, as far as it has not heard on this stream.
    private func askForChannels() {
        let wishes = application()?.takeChannelWishes() ?? [:]
        guard stream != nil, isWanted else { return }
        for (channel, isWanted) in wishes.sorted(by: { $0.key < $1.key })
        where toldChannels[channel] != isWanted {
            toldChannels[channel] = isWanted
            let wish = Subscribe(topic: topic, channel: channel)
            say(isWanted ? .subscribe(wish) : .unsubscribe(wish))
        }
    }

    private func wishForPresentation() {
        guard stream != nil else { return }
        let decides = application()?.decidesPresentation ?? false
        say(.presentationWish(PresentationWish(topic: topic, decides: decides)))
    }

    private func say(_ message: AppMessage) {
        guard let endpoint, let stream else { return }
        var frame: [UInt8] = []
        MessageFraming.frame(message, into: &frame)
        let bytes = frame
        endpoint.streams.send(stream, bytes.span)
    }

    // MARK: EndpointOwner

    func opened() {
        guard !isStopping else {
            endpoint?.close(.localClose)
            return
        }
        openedAt = loop.now
        do throws(SessionError) {
            stream = try endpoint?.streams.openRequest(Self.requestHead)
        } catch {
            endpoint?.close(.localClose)
        }
        if isAttached { say(.attach(topic: topic)) }
        if isWanted { ask() }
        if application()?.decidesPresentation == true { wishForPresentation() }
        ask(onNewStream: true)
        askForChannels()
    }

    func headers(_ stream: Int32, _ block: inout HeaderBlock, kind: BlockKind, endStream: Bool) {
        answer.take(block, kind)
    }

    func data(_ stream: Int32, _ bytes: Span<UInt8>) {
        framing.feed(bytes)
        do throws(CourierError) {
            while let message = try framing.next(AgentMessage.self) { take(message) }
        } catch {
            endpoint?.close(.protocolError(error.description))
        }
    }

    func ended(_ stream: Int32) {}

    func closed(_ stream: Int32, errorCode: UInt32) {
        self.stream = nil
        endpoint?.close(.peerClosed)
    }

    func goawayReceived(lastStream: Int32, errorCode: UInt32, debug: [UInt8]) {}

    func disconnected(_ reason: CloseReason) {
        endpoint = nil
        stream = nil
        unregistersUnderWay = 0
        toldChannels = [:]
        handled.removeAll()
        handOver.streamEnded()
        framing = MessageFraming(maxMessageBytes: Limits.relayMessageBytes)
        answer.end(reason, wasOpened: openedAt != nil, isWanted: !isStopping)
        guard !isStopping else { return }
        let up = openedAt.map { Int((loop.now - $0) / 1_000_000) } ?? 0
        openedAt = nil
        retry.arm(
            afterMilliseconds: backoff.delayMilliseconds(
                afterLinkUp: up, retryAfterMilliseconds: 0, random: .random(in: .min ... .max)))
    }

    private func take(_ message: AgentMessage) {
        switch message {
        // An older answer: the topic was given up since.
        case .registered where unregistersUnderWay > 0: break
        case .registered(let registered) where registered.environment == environment:
            application()?.registered(registered.deviceToken.hex)
        case .registered(let registered):
            application()?.registrationFailed(
                "Another process has registered the app in the \(registered.environment) environment.")
        case .unregistered:
            if unregistersUnderWay > 0 {
                unregistersUnderWay -= 1
                application()?.unregistered()
            } else if isWanted {
                application()?.registrationFailed("The relay has ended the registration.")
            }
        case .refused(let refused):
            if unregistersUnderWay > 0 { unregistersUnderWay -= 1 }
            application()?.registrationFailed(refused.reason)
        case .deliver(let deliver):
            take(deliver.identity, as: deliver.delivery, with: deliver.payload) { $0.arrived($1, deliver) }
        case .fired(let fired):
            take(fired.identity, as: fired.delivery, with: fired.notice.request.content.json) {
                $0.arrived($1) { fired.notice.firing }
            }
        case .responded(let responded):
            take(responded.identity, as: responded.delivery, with: responded.subject.json) { app, identity in
                app.arrived(identity) { [weak app] in app?.posting(responded) ?? responded.response }
            }
        case .answer(let answer): application()?.answered(answer)
        case .authorization(let authorization):
            application()?.authorizationChanged(AuthorizationStatus(authorization.status))
        case .subscribed(let channel): application()?.subscribed(to: channel)
        case .unsubscribed(let end):
            toldChannels[end.channel] = nil
            application()?.unsubscribed(end)
        case .lifeCycle(let change): application()?.changed(change)
        case .system(let event): application()?.happened(event)
        case .deviceState(let device): application()?.attached(to: device)
        case .willPresent(let question): application()?.asked(question)
        case .unknown: break
        }
    }

    /// Lets the observers have what they have not been given yet. A delivery whose JSON cannot be read has failed: the
    /// agent logs it and keeps it as a dead letter.
    private func take(
        _ identity: NotificationIdentity, as delivery: UInt64, with json: [UInt8],
        _ post: (Application, NotificationIdentity) -> Void
    ) {
        guard JSONSyntax.isObject(json.span) else {
            return say(.failed(Failed(delivery: delivery, reason: UserInfoError().description)))
        }
        switch handOver.arrived(identity, as: delivery) {
        case .post: if let application = application() { post(application, identity) }
        case .wait: break
        case .confirm: handled.append(delivery)
        }
    }
}
