import PostriderCourier
import PostriderEndpoints
import PostriderHTTP2
import PostriderNotifications
import PostriderTransport

/// One connection of a device: a real HTTP/2 client that speaks gRPC.
final class SimulatedDeviceSession: EndpointOwner {
    private(set) lazy var endpoint = HTTP2Handler(role: .client, settings: SessionSettings(), owner: self)
    unowned let world: World
    let device: SimulatedDevice
    var link: DeviceLink?
    private var linkStream: Int32?
    private var enrolments: [Int32: MessageFraming] = [:]
    private var framing = MessageFraming(maxMessageBytes: Limits.relayMessageBytes)
    /// The notifications that have arrived and are not stored yet, in order.
    private var received: [(delivery: UInt64, number: Int)] = []
    /// The deliveries that are stored and not acknowledged.
    private var owed: [UInt64] = []
    /// How often each push arrived on this link.
    private var copies: [Int: Int] = [:]
    /// The topics of unanswered requests; answers come in this order.
    private var askedTopics: [String] = []
    /// The numbers of requests about topics on this link, and of their answers.
    private var questions = 0
    private var answers = 0
    /// The number of answers after which the relay has certainly received the device's reception; nil: no outstanding
    /// answer proves it.
    private var heardWith: Int?
    /// The channels whose subscription has no answer yet.
    var awaited: Set<ChannelIdentity> = []
    /// The time of the first request for each channel, and the channels that were given up since.
    var asked: [ChannelIdentity: (event: Int, stamp: Stamp)] = [:]
    var dismissed: Set<ChannelIdentity> = []
    private(set) var isOpen = true
    /// The time of the hello.
    private(set) var hello: (event: Int, stamp: Stamp)?
    /// The reception in the hello, and the latest one on this link.
    private var greetedWith = Reception.usual
    private var wished = Reception.usual
    private let keepaliveSeconds: UInt32
    private var unansweredPings = 0

    init(_ world: World, _ device: SimulatedDevice, keepaliveSeconds: UInt32) {
        self.world = world
        self.device = device
        self.keepaliveSeconds = keepaliveSeconds
    }

    var findings: Findings { world.findings }
    var isWelcome: Bool { link?.isOpen ?? false }
    private var isNewest: Bool { device.session === self }

    /// Whether everything is acknowledged and every request answered.
    var isIdle: Bool {
        received.isEmpty && owed.isEmpty && askedTopics.isEmpty && awaited.isEmpty && enrolments.isEmpty
            && unansweredPings == 0
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

    /// Enrols; sometimes it does so a second time, without need.
    func enrol() {
        guard let stream = try? endpoint.streams.openRequest(head("Enroll")) else { return }
        enrolments[stream] = MessageFraming(maxMessageBytes: Limits.relayMessageBytes)
        var frame: [UInt8] = []
        MessageFraming.frame(EnrollRequest(enrolmentKey: World.enrolmentKey, name: "device"), into: &frame)
        endpoint.streams.send(stream, frame.span)
        endpoint.streams.finish(stream)
    }

    private func connect() {
        guard let identity = device.identity, let stream = try? endpoint.streams.openRequest(head("Connect"))
        else { return }
        linkStream = stream
        let message = Hello(
            deviceIdentity: identity, deviceSecret: device.secret, keepaliveSeconds: keepaliveSeconds,
            agent: "simulated/1", reception: said(device.reception))
        (greetedWith, wished) = (device.reception, device.reception)
        var link = DeviceLink(hello: message, wanted: device.wanted, unwanted: device.unwanted)
        hello = (world.events, world.clock.stamp)
        say(link.start())
        self.link = link
    }

    func say(_ message: DeviceMessage) {
        guard let linkStream else { return }
        switch message {
        case .register(let topic, _), .unregister(let topic):
            askedTopics.append(topic)
            questions += 1
        case .hello, .acknowledge, .goodbye, .subscribe, .unsubscribe, .reception, .fetch, .report,
            .registerWebPush, .unknown:
            break
        }
        var frame: [UInt8] = []
        MessageFraming.frame(message, into: &frame)
        endpoint.streams.send(linkStream, frame.span)
    }

    /// Stores the next received notifications, and acknowledges some of the stored ones.
    func acknowledge(_ count: Int) {
        let next = received.prefix(count)
        received.removeFirst(next.count)
        for (delivery, number) in next {
            owed.append(delivery)
            let forgets = world.fault == .deviceForgets && world.chance.once(in: 8)
            if !forgets { device.keep(number, doubles: world.fault == .deviceDoubles) }
        }
        owed.shuffle(using: &world.chance)
        let some = Array(owed.prefix(count))
        owed.removeFirst(some.count)
        if let message = link?.send(.acknowledge(some)) { say(message) }
    }

    func register(_ topic: String, in environment: PostriderNotifications.Environment) {
        if World.topics.contains(topic) { device.want(topic, in: environment, at: world.clock.stamp) }
        forgetChannels(of: topic, outside: environment)
        if let message = link?.send(.register(topic: topic, environment: environment)) { say(message) }
    }

    func unregister(_ topic: String) {
        device.giveUp(topic, at: world.clock.stamp)
        forgetChannels(of: topic, outside: nil)
        if let message = link?.send(.unregister(topic: topic)) { say(message) }
    }

    /// Changes the reception.
    func wish(_ reception: Reception) {
        device.reception = reception
        wished = reception
        heardWith = nil
        guard let message = link?.send(.reception(said(reception))) else { return }
        say(message)
        askForAnswer()
    }

    /// Makes a request. The relay answers in order, therefore the answer proves that it has received everything
    /// before.
    private func askForAnswer() {
        guard let topic = device.wanted.keys.min(), let environment = device.wanted[topic],
            let message = link?.send(.register(topic: topic, environment: environment))
        else { return }
        say(message)
        heardWith = questions
    }

    private func said(_ reception: Reception) -> Reception {
        world.fault == .deviceConceals ? .usual : reception
    }

    func leave() {
        if let message = link?.goodbye(.unspecified, detail: "") { say(message) }
        endLinkStream()
    }

    /// Ends the device's side of the link's stream without a message.
    func endLinkStream() {
        guard let linkStream else { return }
        endpoint.streams.finish(linkStream)
        link = nil
        self.linkStream = nil
        received = []
        owed = []
        askedTopics = []
        awaited = []
    }

    func ping() {
        guard isWelcome else { return }
        unansweredPings += 1
        endpoint.streams.ping()
    }

    func pingAcknowledged() {
        unansweredPings -= 1
        findings.expect(unansweredPings >= 0, .conduct, "a PING was answered twice")
    }

    // MARK: What the relay says

    func headers(_ stream: Int32, _ block: inout HeaderBlock, kind: BlockKind, endStream: Bool) {
        guard enrolments[stream] != nil, let status = block.text(of: "grpc-status"), status != "0" else {
            return
        }
        // UNAVAILABLE, or DEADLINE_EXCEEDED if the network was too slow.
        findings.expect(["14", "4"].contains(status), .answers, "an enrolment failed with status \(status)")
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
            findings.note(.conduct, "the relay broke the protocol: \(error)")
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
            if isNewest { device.note(all: welcome.registrations) }
            for message in messages { say(message) }
            if greetedWith == wished { heardWith = 0 } else { askForAnswer() }
            subscribeToAll()
            world.noteWelcome()
        case .registered(let registered):
            answered(registered.topic)
            // A replaced link may still report an older state.
            guard isNewest else { break }
            let known = device.registrations[registered.topic]
            findings.expect(
                known?.environment != registered.environment || known == registered, .answers,
                "\(registered.topic) has another token in the environment in which it was")
            device.note(registered)
        case .refused(let refused): answered(refused.topic)
        case .unregistered(let topic):
            answered(topic)
            if isNewest { device.lose(topic) }
        case .deliver(let deliver): take(deliver)
        case .subscribed(let channel): subscribed(to: channel)
        case .unsubscribed(let end): unsubscribed(end)
        case .broadcast(let deliver): heard(deliver)
        case .goodbye(let goodbye):
            if goodbye.reason == .removed, isNewest { device.removed() }
            if goodbye.reason == .overloaded, goodbye.retryAfterMilliseconds > 0 {
                world.noteDeferral(of: device, byMilliseconds: goodbye.retryAfterMilliseconds)
            }
        }
    }

    private func take(_ deliver: Deliver) {
        guard let number = pushNumber(in: deliver.payload) else {
            return findings.note(.conduct, "a push without a number is delivered")
        }
        received.append((deliver.delivery, number))
        copies[number, default: 0] += 1
        findings.expect(
            received.count + owed.count <= Limits.deliveryWindow, .bounds,
            "\(received.count + owed.count) deliveries wait for one device's acknowledgement")
        if let heardWith, answers >= heardWith {
            findings.expect(
                !wished.ignored.contains(deliver.topic), .wishes,
                "push \(number) comes for \(deliver.topic), which device \(device.index) ignores")
        }
        world.delivered(deliver, to: self, copies: copies[number] ?? 1, isNewestLink: isNewest)
    }

    /// Takes an answer; answers come in the order of the requests.
    private func answered(_ topic: String) {
        findings.expect(askedTopics.first == topic, .conduct, "\(topic) is answered out of its turn")
        if !askedTopics.isEmpty { askedTopics.removeFirst() }
        answers += 1
    }

    func ended(_ stream: Int32) {
        if stream == linkStream { endpoint.streams.finish(stream) }
    }

    func closed(_ stream: Int32, errorCode: UInt32) {
        enrolments[stream] = nil
        if stream == linkStream { linkStream = nil }
    }

    func goawayReceived(lastStream: Int32, errorCode: UInt32, debug: [UInt8]) {}

    func disconnected(_ reason: CloseReason) {
        isOpen = false
        if isNewest { device.session = nil }
    }
}
