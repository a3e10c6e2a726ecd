import Courier
import Endpoints
import HTTP2
import Notifications
import Testing
import Transport

/// A device over all its connections: who it is, and what it has made safe.
final class SimulatedDevice {
    let index: Int
    var identity: DeviceIdentity?
    var secret: [UInt8] = []
    /// What was received: the numbers of pushes.
    var known: Set<Int> = []
    /// What is registered as far as it knows, by topic, and the tokens of former registrations.
    var registrations: [String: Registered] = [:]
    var deadTokens: Set<DeviceToken> = []
    /// The environment in which each topic is to be registered.
    var wanted: [String: Notifications.Environment]
    var session: SimulatedDeviceSession?
    /// The channels that it wants, by their places in the world's list.
    var channels: Set<Int> = []
    var lastBroadcast: [ChannelIdentity: NotificationIdentity] = [:]
    var knownBroadcasts: Set<Int> = []
    /// By channel: when the youngest broadcast that it has received was sent.
    var youngestBroadcast: [Int: Int] = [:]

    init(index: Int, wanted: [String: Notifications.Environment]) {
        self.index = index
        self.wanted = wanted
    }

    /// The relay says how a topic is registered. A token that was replaced is never good again.
    func note(_ registered: Registered) {
        let known = registrations.updateValue(registered, forKey: registered.topic)
        if let known, known.deviceToken != registered.deviceToken { deadTokens.insert(known.deviceToken) }
        #expect(!deadTokens.contains(registered.deviceToken), "a token of \(registered.topic) rose again")
    }
}

/// One connection of a device: a real HTTP/2 client that speaks gRPC.
final class SimulatedDeviceSession: EndpointOwner {
    private(set) lazy var endpoint = Endpoint(role: .client, settings: SessionSettings(), owner: self)
    unowned let world: World
    let device: SimulatedDevice
    private(set) var link: DeviceLink?
    private var linkStream: Int32?
    private var enrolments: [Int32: MessageFraming] = [:]
    private var framing = MessageFraming(maxMessageBytes: Limits.relayMessageBytes)
    private(set) var unacknowledged: [UInt64] = []
    private var identities: Set<NotificationIdentity> = []
    /// Topics that were asked for, in order; answers come in this order.
    private var askedTopics: [String] = []
    /// Channels whose subscription is to be answered.
    var awaited: Set<ChannelIdentity> = []
    /// When channels were asked for first, and those that were given up since.
    var asked: [ChannelIdentity: (event: Int, time: Moment)] = [:]
    var dismissed: Set<ChannelIdentity> = []
    private(set) var isOpen = true

    init(_ world: World, _ device: SimulatedDevice) {
        self.world = world
        self.device = device
    }

    var isWelcome: Bool { link?.isOpen ?? false }

    /// Whether everything was acknowledged and every question answered.
    var isIdle: Bool {
        unacknowledged.isEmpty && askedTopics.isEmpty && awaited.isEmpty && enrolments.isEmpty
    }

    // MARK: What the device does

    func opened() {
        if device.identity == nil { enrol() } else { connect() }
    }

    private func head(_ method: String) -> HeaderBlock {
        [
            ":method": "POST", ":scheme": "https", ":authority": "relay",
            ":path": "/postrider.courier.v1.Courier/" + method,
            "content-type": "application/grpc", "te": "trailers",
        ]
    }

    /// Enrols, perhaps a second time for nothing.
    func enrol() {
        guard let stream = try? endpoint.streams.openRequest(head("Enroll")) else { return }
        enrolments[stream] = MessageFraming(maxMessageBytes: Limits.relayMessageBytes)
        var frame: [UInt8] = []
        MessageFraming.frame(EnrollRequest(enrolmentKey: World.enrolmentKey, name: "device"), into: &frame)
        endpoint.streams.send(stream, frame.span)
        endpoint.streams.finish(stream)
        endpoint.setNeedsFlush()
    }

    private func connect() {
        guard let identity = device.identity, let stream = try? endpoint.streams.openRequest(head("Connect"))
        else { return }
        linkStream = stream
        let hello = Hello(
            deviceIdentity: identity, deviceSecret: device.secret, keepaliveSeconds: 1800,
            agent: "simulated/1")
        var link = DeviceLink(hello: hello, wanted: device.wanted, unwanted: [])
        say(link.start())
        self.link = link
    }

    func say(_ message: DeviceMessage) {
        guard let linkStream else { return }
        switch message {
        case .register(let topic, _), .unregister(let topic): askedTopics.append(topic)
        case .hello, .acknowledge, .goodbye, .subscribe, .unsubscribe, .reception, .fetch, .report, .unknown:
            break
        }
        var frame: [UInt8] = []
        MessageFraming.frame(message, into: &frame)
        endpoint.streams.send(linkStream, frame.span)
        endpoint.setNeedsFlush()
    }

    func acknowledge(_ count: Int) {
        unacknowledged.shuffle(using: &world.chance)
        let some = Array(unacknowledged.prefix(count))
        unacknowledged.removeFirst(some.count)
        if let message = link?.acknowledge(some) { say(message) }
    }

    func register(_ topic: String, in environment: Notifications.Environment) {
        if device.wanted[topic] != nil { device.wanted[topic] = environment }
        forgetChannels(of: topic, outside: environment)
        if let message = link?.register(topic, in: environment) { say(message) }
    }

    func leave() {
        if let message = link?.goodbye(.unspecified, detail: "") { say(message) }
        if let linkStream { endpoint.streams.finish(linkStream) }
        endpoint.setNeedsFlush()
    }

    // MARK: What the relay says

    func headers(_ stream: Int32, _ block: HeaderBlock, kind: BlockKind, endStream: Bool) {
        if stream != linkStream, let status = block.text(of: "grpc-status"), status != "0" {
            #expect(status == "14", "an enrolment fails for want of a disk only")
        }
    }

    func data(_ stream: Int32, _ bytes: Span<UInt8>) {
        do throws(CourierError) {
            if stream == linkStream {
                framing.feed(bytes)
                while let message = try framing.next(RelayMessage.self) {
                    if let event = try link?.receive(message) { take(event) }
                }
            } else if var framing = enrolments[stream] {
                framing.feed(bytes)
                if let response = try framing.next(EnrollResponse.self) { enrolled(response) }
                enrolments[stream] = framing
            }
        } catch {
            Issue.record("the relay broke the protocol: \(error)")
        }
    }

    private func enrolled(_ response: EnrollResponse) {
        guard device.identity == nil else { return }
        device.identity = response.deviceIdentity
        device.secret = response.deviceSecret
        connect()
    }

    private func take(_ event: DeviceLink.Event) {
        switch event {
        case .welcomed(let welcome, let messages):
            if device.session === self { for known in welcome.registrations { device.note(known) } }
            for message in messages { say(message) }
            subscribeToAll()
            world.noteWelcome()
        case .registered(let registered):
            answered(registered.topic)
            // A replaced link may tell late what is history by now.
            guard device.session === self else { break }
            let known = device.registrations[registered.topic]
            #expect(
                known?.environment != registered.environment || known == registered,
                "a topic keeps its token while it keeps its environment")
            device.note(registered)
        case .refused(let refused): answered(refused.topic)
        case .unregistered(let topic): answered(topic)
        case .deliver(let deliver):
            unacknowledged.append(deliver.delivery)
            #expect(unacknowledged.count <= Limits.deliveryWindow)
            let isFirst = identities.insert(deliver.identity).inserted
            world.delivered(
                deliver, to: device, isFirstOnLink: isFirst, isNewestLink: device.session === self)
        case .subscribed(let channel): subscribed(to: channel)
        case .unsubscribed(let end): unsubscribed(end)
        case .broadcast(let deliver): heard(deliver)
        case .goodbye: break
        }
    }

    /// Answers come in the order of the questions.
    private func answered(_ topic: String) {
        #expect(askedTopics.first == topic, "\(topic) is answered out of its turn")
        if !askedTopics.isEmpty { askedTopics.removeFirst() }
    }

    func ended(_ stream: Int32) {
        if stream == linkStream { endpoint.streams.finish(stream) }
        endpoint.setNeedsFlush()
    }

    func closed(_ stream: Int32, errorCode: UInt32) {
        enrolments[stream] = nil
        if stream == linkStream { linkStream = nil }
    }

    func goawayReceived(lastStream: Int32, errorCode: UInt32, debug: [UInt8]) {}

    func disconnected(_ reason: CloseReason) {
        isOpen = false
        if device.session === self { device.session = nil }
    }
}
