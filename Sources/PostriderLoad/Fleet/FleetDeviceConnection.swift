import PostriderCourier
import PostriderHTTP2
import PostriderNotifications
import PostriderTransport

/// A device's connection. It enrols if the device is new, says hello, registers its apps, and acknowledges
/// notifications: one message for all that arrived together.
final class FleetDeviceConnection: FleetConnection {
    private unowned let device: FleetDevice
    private unowned let fleet: DeviceFleet
    private var framing = MessageFraming(maxMessageBytes: Limits.relayMessageBytes)
    private var enrolment: (stream: Int32, framing: MessageFraming)?
    private var stream: Int32?
    private var nextDelivery: UInt64 = 1
    private var acknowledgements: [UInt64] = []
    /// What is to be reported of pushes of other senders.
    private var events: [Report.Event] = []
    private var isWelcome = false
    /// Whether it has said goodbye: notifications that arrive now are ignored, and are sent again over the next link.
    private var isLeaving = false
    /// Whether the relay ended the stream with status OK, so that it has read everything before that.
    private(set) var hasGoodEnd = false
    private(set) var goodbye: Goodbye?
    private(set) var keepaliveSeconds = 60

    private static let settings: SessionSettings = {
        var settings = SessionSettings()
        settings.connectionWindowSize = 1 << 18
        return settings
    }()

    init(_ device: FleetDevice, of fleet: DeviceFleet) {
        self.device = device
        self.fleet = fleet
        super.init(fleet.meter, settings: Self.settings)
    }

    /// Leaves with a goodbye; the relay has taken every acknowledgement when the connection ends.
    func leave() {
        guard let stream, !isLeaving else { return close() }
        prepareFlush()
        say(.goodbye(Goodbye(reason: .shutdown, retryAfterMilliseconds: 0, detail: "")))
        isLeaving = true
        streams.finish(stream)
    }

    func subscribe(to channel: ChannelIdentity, of topic: Topic) {
        say(.subscribe(Subscribe(topic: topic.text, channel: channel)))
    }

    func ping() {
        streams.forgiveEmptyFrames()
        streams.ping()
        setNeedsFlush()
    }

    override func opened() {
        if device.identity == nil { enrol() } else { connect() }
    }

    override func prepareFlush() {
        guard !acknowledgements.isEmpty, let stream else { return }
        fleet.frame.removeAll(keepingCapacity: true)
        MessageFraming.frame(acknowledging: acknowledgements, into: &fleet.frame)
        acknowledgements.removeAll(keepingCapacity: true)
        while !events.isEmpty {
            let report = Report(events)
            MessageFraming.frame(DeviceMessage.report(report), into: &fleet.frame)
            events.removeFirst(report.events.count)
        }
        let frame = fleet.frame
        streams.send(stream, frame.span)
    }

    override func data(_ stream: Int32, _ bytes: Span<UInt8>) {
        do throws(CourierError) {
            if enrolment?.stream == stream {
                try enrolment?.framing.takeAll(bytes) { message throws(CourierError) in
                    let answer = try EnrollResponse(decoding: message)
                    device.enrolled(answer)
                }
            } else {
                try framing.takeAll(bytes) { message throws(CourierError) in try take(message) }
            }
        } catch {
            wire?.abort(.protocolError(error.description))
        }
    }

    override func headers(_ stream: Int32, _ block: inout HeaderBlock, kind: BlockKind, endStream: Bool) {
        guard kind != .informational, endStream else { return }
        let status = block.value(of: "grpc-status").map { GRPCStatus($0.span) } ?? .unknown
        let message = block.value(of: "grpc-message").map { GRPCMessage.decode($0.span) } ?? ""
        if enrolment?.stream == stream {
            if device.identity != nil { connect() } else { fleet.enrolmentFailed(status, message) }
        } else {
            hasGoodEnd = status == .ok
            if status != .ok, goodbye == nil {
                fleet.linkBroken("the relay ended a link: \(status) \(message)")
            }
        }
    }

    override func closed(_ stream: Int32, errorCode: UInt32) {
        if stream == enrolment?.stream {
            enrolment = nil
            // The relay refuses new devices for now: the device tries again over another connection, after a pause.
            if device.identity == nil { close() }
        } else if stream == self.stream {
            self.stream = nil
            close()
        }
    }

    override func ended(_ reason: CloseReason) { device.lineEnded(self, reason) }

    // MARK: Sending

    private func enrol() {
        var body: [UInt8] = []
        let name = "\(fleet.port?.namePrefix ?? "")-\(device.index)"
        MessageFraming.frame(
            EnrollRequest(
                enrolmentKey: fleet.port?.enrolmentKey ?? "", name: name, tags: fleet.port?.tags ?? []),
            into: &body)
        request(.enroll) { [streams] head throws(SessionError) in
            enrolment = (
                try streams.request(head, body: body),
                MessageFraming(maxMessageBytes: Limits.relayMessageBytes)
            )
        }
    }

    private func connect() {
        guard let identity = device.identity else { return }
        request(.connect) { [streams] head throws(SessionError) in stream = try streams.openRequest(head) }
        say(
            .hello(
                Hello(
                    deviceIdentity: identity, deviceSecret: device.secret, keepaliveSeconds: 0,
                    agent: "postrider-load")))
    }

    private func request(
        _ method: CourierMethod, _ make: (HeaderBlock) throws(SessionError) -> Void
    ) {
        var head = HeaderBlock()
        head.add(":method", "POST")
        head.add(":scheme", "https")
        head.add(":authority", fleet.port?.name ?? "")
        head.add(":path", method.rawValue)
        head.add("content-type", "application/grpc")
        head.add("te", "trailers")
        do throws(SessionError) {
            try make(head)
            setNeedsFlush()
        } catch {
            wire?.close(.protocolError(error.description))
        }
    }

    private func say(_ message: DeviceMessage) {
        guard let stream, !isLeaving else { return }
        fleet.frame.removeAll(keepingCapacity: true)
        MessageFraming.frame(message, into: &fleet.frame)
        let frame = fleet.frame
        streams.send(stream, frame.span)
        setNeedsFlush()
    }

    // MARK: Receiving

    private func take(_ bytes: Span<UInt8>) throws(CourierError) {
        guard !isLeaving else { return }
        guard let outline = try DeliverView(relayMessage: bytes) else {
            let message = try RelayMessage(decoding: bytes)
            return try take(message)
        }
        if !outline.isBroadcast {
            guard outline.delivery == nextDelivery else {
                throw .outOfOrder("delivery \(outline.delivery) came where \(nextDelivery) was due")
            }
            nextDelivery += 1
            acknowledgements.append(outline.delivery)
            setNeedsFlush()
        }
        guard !fleet.outcomes.arrived(outline, bytes, at: device), !outline.isBroadcast else { return }
        guard case .deliver(let deliver) = try RelayMessage(decoding: bytes), deliver.wantsReport else {
            return
        }
        let now = Moment(milliseconds: fleet.loop.wallMilliseconds)
        events.append(Report.Event(.handedOver, of: deliver.identity, push: deliver.push, at: now))
    }

    private func take(_ message: RelayMessage) throws(CourierError) {
        switch message {
        case .welcome(let welcome):
            try welcome.check()
            isWelcome = true
            keepaliveSeconds = Int(welcome.keepaliveSeconds)
            var missing = fleet.topics
            for registered in welcome.registrations {
                device.registered(registered)
                missing.removeAll { $0.text == registered.topic }
            }
            for topic in missing { say(.register(topic: topic.text)) }
            device.checkReady(isWelcome: true)
        case .registered(let registered):
            device.registered(registered)
            device.checkReady(isWelcome: isWelcome)
        case .refused(let refused):
            fleet.failure.fail("The relay does not register \(refused.topic): \(refused.reason)")
        case .goodbye(let goodbye): self.goodbye = goodbye
        case .subscribed: fleet.subscribed()
        case .unsubscribed(let end): fleet.failure.fail("The relay ends a subscription: \(end.reason)")
        case .unregistered, .deliver, .broadcast, .unknown: break
        }
    }
}
