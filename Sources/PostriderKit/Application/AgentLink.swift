import PostriderCourier
import PostriderEndpoints
import PostriderHTTP2
import PostriderJSON
import PostriderNotifications
import PostriderTransport

/// A message from an application, on any thread, to its link.
enum LinkCommand: Sendable {
    /// Whether the application wants notifications has changed: ``TokenRegistration/takeWish()``.
    case wish
    /// The application wants to attach, with or without a device token.
    case attach
    /// The user notification centre has calls for the agent: ``CenterCalls/take(onNewStream:)``.
    case calls
    /// The channels that the application wants have changed: ``RequestedSubscriptions/take()``.
    case channels
    /// Every observer of this notification has returned.
    case observed(NotificationIdentity)
    /// An observer of this notification has reported that it failed.
    case failed(NotificationIdentity, reason: String)
    /// Every observer of ``NotificationName/deviceWillSleep`` has returned. The number identifies the sleep.
    case ready(sleep: UInt64)
    /// Whether the application decides how alerts are presented has changed: ``CenterDelegation/decidesPresentation``.
    case presentationWish
    /// The application has decided how one alert is presented.
    case presented(Presentation)
    case stop
}

/// An application's connection to the agent, on a loop of its own. It reconnects whenever the connection is lost,
/// until it is stopped.
final class AgentLink: EndpointOwner {
    private unowned let loop: EventLoop
    private let address: SocketAddress
    private let topic: String
    private let environment: Environment
    /// Returns the application. The link does not keep it alive, and ends when the application is released.
    private let application: () -> Application?

    private var endpoint: HTTP2Handler?
    private var current = AttachStream()
    private var handOver = HandOver()
    /// Whether the application wants notifications, and whether it wants to attach without them.
    private var isWanted = false
    private var isAttached = false
    private var isStopping = false
    private var hasLeft = false
    private var backoff = Backoff(baseMilliseconds: 100, capMilliseconds: 5_000, stableMilliseconds: 10_000)
    private lazy var retry = loop.makeTimer { [unowned self] in connect() }
    private lazy var answer = AgentAnswer(at: address, on: loop, application)

    /// The stream to the agent, and what was said on it.
    private struct AttachStream {
        /// Its number; nil if it is not open.
        var number: Int32?
        /// When the connection was opened; nil if it was not.
        var openedAt: UInt64?
        var framing = MessageFraming(maxMessageBytes: Limits.relayMessageBytes)
        /// Deliveries whose acknowledgements are sent at the end of this turn.
        var handled: [UInt64] = []
        /// How many confirmations of an unregistration the agent still has to send.
        var unregistersUnderWay = 0
        /// Whether the agent was told that a channel is wanted.
        var toldChannels: [ChannelIdentity: Bool] = [:]
    }

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

    /// Connects for the first time, or reconnects.
    func connect() {
        answer.begin()
        var settings = SessionSettings()
        settings.connectionWindowSize = 65_535
        let endpoint = HTTP2Handler(role: .client, settings: settings, owner: self)
        self.endpoint = endpoint
        loop.connect(to: address, session: endpoint)
    }

    /// Handles the messages of the application.
    func receive(_ messages: inout [LinkCommand]) {
        for message in messages {
            switch message {
            case .wish:
                isWanted = application()?.registration.takeWish() ?? false
                ask()
                askForChannels()
            case .channels: askForChannels()
            case .attach:
                isAttached = true
                if current.number != nil { say(.attach(topic: topic)) }
            case .calls: ask(onNewStream: false)
            case .observed(let identity):
                if let delivery = handOver.observed(identity) { current.handled.append(delivery) }
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

    /// Acknowledges all deliveries that were handled in this turn in one message, and then ends the stream if the
    /// application was stopped.
    func endTurn() {
        if !current.handled.isEmpty {
            say(.handled(current.handled))
            current.handled.removeAll(keepingCapacity: true)
        }
        guard isStopping else { return }
        if !hasLeft {
            // The stream ends in order, so that the agent does not count unhandled deliveries as failed.
            if let stream = current.number { endpoint?.streams.finish(stream) }
            endpoint?.close(.localClose)
        }
        hasLeft = true
        // The loop stops only when the agent has closed, too; otherwise our last messages could be lost.
        if loop.connectionCount == 0 { loop.stop() }
    }

    /// Tells the agent whether the application wants notifications.
    private func ask() {
        guard current.number != nil else { return }
        if !isWanted { current.unregistersUnderWay += 1 }
        if !isWanted { current.toldChannels = [:] }
        say(isWanted ? .register(topic: topic, environment: environment) : .unregister(topic: topic))
    }

    /// Sends the calls of the user notification centre.
    private func ask(onNewStream isNew: Bool) {
        guard current.number != nil else { return }
        for call in application()?.calls.take(onNewStream: isNew) ?? [] { say(.center(call)) }
    }

    /// Sends the channels that the application wants, as far as they are not sent on this stream yet.
    private func askForChannels() {
        let wishes = application()?.channels.take() ?? [:]
        guard current.number != nil, isWanted else { return }
        for (channel, isWanted) in wishes.sorted(by: { $0.key < $1.key })
        where current.toldChannels[channel] != isWanted {
            current.toldChannels[channel] = isWanted
            let wish = Subscribe(topic: topic, channel: channel)
            say(isWanted ? .subscribe(wish) : .unsubscribe(wish))
        }
    }

    private func wishForPresentation() {
        guard current.number != nil else { return }
        let decides = application()?.delegation.decidesPresentation ?? false
        say(.presentationWish(PresentationWish(topic: topic, decides: decides)))
    }

    private func say(_ message: AppMessage) {
        guard let endpoint, let stream = current.number else { return }
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
        current.openedAt = loop.now
        do throws(SessionError) {
            current.number = try endpoint?.streams.openRequest(Self.requestHead)
        } catch {
            endpoint?.close(.localClose)
        }
        if isAttached { say(.attach(topic: topic)) }
        if isWanted { ask() }
        if application()?.delegation.decidesPresentation == true { wishForPresentation() }
        ask(onNewStream: true)
        askForChannels()
    }

    func headers(_ stream: Int32, _ block: inout HeaderBlock, kind: BlockKind, endStream: Bool) {
        answer.take(block, kind)
    }

    func data(_ stream: Int32, _ bytes: Span<UInt8>) {
        current.framing.feed(bytes)
        do throws(CourierError) {
            while let message = try current.framing.next(AgentMessage.self) { take(message) }
        } catch {
            endpoint?.close(.protocolError(error.description))
        }
    }

    func ended(_ stream: Int32) {}

    func closed(_ stream: Int32, errorCode: UInt32) {
        current.number = nil
        endpoint?.close(.peerClosed)
    }

    func goawayReceived(lastStream: Int32, errorCode: UInt32, debug: [UInt8]) {}

    func disconnected(_ reason: CloseReason) {
        let former = current
        endpoint = nil
        current = AttachStream()
        handOver.streamEnded()
        answer.end(reason, wasOpened: former.openedAt != nil, isWanted: !isStopping)
        guard !isStopping else { return }
        let up = former.openedAt.map { Int((loop.now - $0) / 1_000_000) } ?? 0
        retry.arm(
            afterMilliseconds: backoff.delayMilliseconds(
                afterLinkUp: up, retryAfterMilliseconds: 0, random: .random(in: .min ... .max)))
    }

    private func take(_ message: AgentMessage) {
        switch message {
        // This answers an earlier registration; the application has unregistered the topic since.
        case .registered where current.unregistersUnderWay > 0: break
        case .registered(let registered) where registered.environment == environment:
            application()?.registered(registered.deviceToken.hex)
        case .registered(let registered):
            application()?.registrationFailed(
                "Another process has registered the app in the \(registered.environment) environment.")
        case .unregistered:
            if current.unregistersUnderWay > 0 {
                current.unregistersUnderWay -= 1
                application()?.registration.unregistered()
            } else if isWanted {
                application()?.registrationFailed("The relay has ended the registration.")
            }
        case .refused(let refused):
            if current.unregistersUnderWay > 0 { current.unregistersUnderWay -= 1 }
            application()?.registrationFailed(refused.reason)
        case .deliver(let deliver):
            take(deliver.identity, as: deliver.delivery, with: deliver.payload) { $0.arrived($1, deliver) }
        case .fired(let fired):
            take(fired.identity, as: fired.delivery, with: fired.notice.request.content.json) {
                $0.arrived($1) { fired.notice.firing }
            }
        case .responded(let responded):
            take(responded.identity, as: responded.delivery, with: responded.subject.json) { app, identity in
                app.arrived(identity) { [weak app] in app?.delegation.posting(responded) ?? responded.response
                }
            }
        case .answer(let answer): application()?.calls.answered(answer)
        case .authorization(let authorization):
            application()?.authorizationChanged(AuthorizationStatus(authorization.status))
        case .subscribed(let channel): application()?.subscribed(to: channel)
        case .unsubscribed(let end):
            current.toldChannels[end.channel] = nil
            application()?.unsubscribed(end)
        case .lifeCycle(let change): application()?.changed(change)
        case .system(let event): application()?.happened(event)
        case .deviceState(let device): application()?.attached(to: device)
        case .willPresent(let question): application()?.asked(question)
        case .unknown: break
        }
    }

    /// Gives a delivery to the observers unless they have had it. A delivery whose JSON cannot be read has failed:
    /// the agent logs it and keeps it as a dead letter.
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
        case .confirm: current.handled.append(delivery)
        }
    }
}
