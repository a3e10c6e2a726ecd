import PostriderCourier
import PostriderCrypto
import PostriderDeviceQueue
import PostriderEndpoints
import PostriderHTTP2
import PostriderNotifications
import PostriderTransport

/// One device's connection: the gRPC service `Courier`. It begins on the shard that accepted it, and moves to the
/// device's home once the device has said hello.
final class DeviceSession: EndpointOwner {
    /// The connection's number on its current shard.
    private(set) var number: UInt64
    /// The device connections of its current shard.
    private(set) unowned var connections: DeviceConnections
    private(set) lazy var endpoint = HTTP2Handler(role: .server, settings: Self.settings, owner: self)
    /// The device at the other end, once its home has let it in.
    private(set) var entry: DeviceEntry?
    /// The process at the other end, once it has said hello.
    private(set) var party = CloneWatch.Party(instance: 0, address: "")
    var enrolments = EnrolmentCalls()
    private var link = RelayLink()
    /// The framing of the link's stream.
    private var framing = MessageFraming(maxMessageBytes: Limits.deviceMessageBytes)
    /// The stream of `Connect`; a connection has at most one.
    private(set) var linkStream: Int32?
    /// The device's subscriptions to channels; they end with the link.
    var subscriptions: [SubscriptionIntent: Subscription] = [:]
    var keepalive = Keepalive()
    /// How the link ended, if one of its ends has said so.
    var ending: DevicePresence.Ending?
    var isEnding = false
    /// The status with which the link's stream will end: set when the relay has said goodbye and acknowledgements still
    /// count.
    private(set) var farewell: (status: GRPCStatus, detail: String)?
    /// The timer for the hello, then for the keepalive.
    var timer: (any LoopTimer)?

    /// The most seconds that a PING may stay unanswered.
    static let pongSeconds: UInt32 = 20
    /// Seconds that a device has, after the relay's goodbye, to acknowledge what is under way.
    private static let farewellSeconds: UInt32 = 2
    /// Seconds that a device has to end a stream that the relay has ended.
    private static let endingSeconds: UInt32 = 5

    init(among connections: DeviceConnections) {
        number = connections.context.drawNumber()
        self.connections = connections
    }

    /// The context of its current shard.
    var context: ShardContext { connections.context }

    /// Its device, while this is the device's connection.
    var currentEntry: DeviceEntry? { entry.flatMap { $0.session === self ? $0 : nil } }

    /// Whether an enrolment over this connection waits for its answer.
    var isEnrolling: Bool { enrolments.awaitsHome }

    // MARK: EndpointOwner

    func opened() { takePlace() }

    func headers(_ stream: Int32, _ block: inout HeaderBlock, kind: BlockKind, endStream: Bool) {
        guard kind == .head else { return }
        var method: CourierMethod?
        var isGRPC = false
        block.forEach { name, value in
            if name.spells(":path") { method = CourierMethod(path: value) }
            if name.spells("content-type") { isGRPC = value.begins(with: "application/grpc") }
        }
        switch method {
        case _ where !isGRPC:
            refuse(
                stream, with: GRPCResponse.strangersHead, .invalidArgument,
                "Devices connect to this port, by gRPC: content-type must be application/grpc.")
        case nil, .attach, .keyboard:
            refuse(
                stream, .unimplemented,
                "The service is postrider.courier.v1.Courier, its methods Enroll and Connect.")
        case .enroll:
            enrolments.begin(stream)
        case .connect where linkStream != nil:
            refuse(stream, .failedPrecondition, "A connection carries one Connect stream.")
        case .connect:
            linkStream = stream
            framing = MessageFraming(maxMessageBytes: Limits.deviceMessageBytes)
            endpoint.streams.openResponse(stream, GRPCResponse.head)
        }
    }

    func data(_ stream: Int32, _ bytes: Span<UInt8>) {
        guard stream != linkStream else { return receive(bytes) }
        guard !enrolments.receive(bytes, on: stream) else { return }
        refuse(stream, .resourceExhausted, "The request is larger than a message may be.")
    }

    func ended(_ stream: Int32) {
        if stream == linkStream {
            endAsSaid()
        } else if var framing = enrolments.end(stream) {
            enrol(stream, &framing)
        }
    }

    func closed(_ stream: Int32, errorCode: UInt32) {
        enrolments.forget(stream)
        guard stream == linkStream else { return }
        linkStream = nil
        // Where the connection is gone too, its end says why.
        guard endpoint.wire != nil else { return }
        connections.left(self)
        endpoint.close(.peerClosed)
    }

    func goawayReceived(lastStream: Int32, errorCode: UInt32, debug: [UInt8]) {
        context.deviceEnds.noteGoaway(errorCode, debug, from: endpoint.peer)
    }

    func pingAcknowledged() { keepalive.isAwaitingPong = false }

    func disconnected(_ reason: CloseReason, from peer: Peer?) {
        timer = nil
        connections.remove(self)
        ending = ending ?? DevicePresence.Ending(reason)
        connections.left(self)
        entry = nil
        context.deviceEnds.note(reason, of: peer)
    }

    // MARK: Moving home

    /// The connection is about to leave this shard for the device's home.
    func depart() {
        timer = nil
        connections.remove(self)
    }

    /// The connection has arrived at the device's home.
    func arrive(at home: DeviceConnections, number: UInt64) {
        connections = home
        self.number = number
        takePlace()
        // Output from before the move that has not been sent.
        endpoint.setNeedsFlush()
    }

    /// Registers with its shard under a new number, and waits for the hello.
    private func takePlace() {
        connections.add(self)
        arm(seconds: UInt32(Limits.helloMilliseconds / 1000))
    }

    // MARK: The link

    /// The device is let in: it is told its registrations, and its pending notifications follow.
    func welcome(_ entry: DeviceEntry, _ hello: Hello, registrations: [Registered]) {
        self.entry = entry
        party = self.party(of: hello)
        keepalive.seconds = hello.grantedKeepaliveSeconds
        let pending = UInt64(entry.device.pendingCount)
        let welcome = link.welcome(
            keepaliveSeconds: keepalive.seconds,
            registrations: registrations,
            pending: pending, nowMilliseconds: context.now.milliseconds,
            webPushURL: connections.registrations.web?.endpointPrefix ?? ""
        )
        say(.welcome(welcome))
        _ = endpoint.takeHeard()
        if connections.deviceLinks == .lean { endpoint.streams.becomeLeanWhenQuiet() }
        arm(seconds: keepalive.seconds)
    }

    /// Sends a notification as the delivery of this number. After a goodbye nothing is sent and false is returned; the
    /// notification stays pending.
    ///
    /// - Parameter push: the number by which the device shall report what becomes of it; 0 if it need not.
    func deliver(_ notification: Notification, as delivery: UInt64, reportedAs push: UInt64) -> Bool {
        guard linkStream != nil, isLinkOpen else { return false }
        let sent = Delivery(notification, number: delivery, push: push)
        if connections.linkEffects?.takesOver(sent, of: self) != true { write(sent) }
        return true
    }

    /// Whether the device was let in and neither end has said goodbye.
    var isLinkOpen: Bool { link.isOpen && !isEnding }

    /// Sends a message on the link, if the link is open. The goodbye is the last one.
    func say(_ message: RelayMessage) {
        guard let linkStream, !isEnding, farewell == nil else { return }
        endpoint.streams.send(linkStream) { MessageFraming.frame(message, into: &$0) }
    }

    /// Says goodbye and ends the link. The device keeps its pending notifications and comes back.
    ///
    /// Unless the device is at fault, the link stays open for a moment until everything under way is acknowledged, so
    /// that it need not be delivered again. That also helps devices with grpcio's asyncio: if one of their
    /// acknowledgements meets the end of the stream, they lose the goodbye and the status.
    ///
    /// - Parameter status: the status with which the stream ends; nil for the one that belongs to the reason.
    func leave(
        _ reason: Goodbye.Reason, retryAfterMilliseconds: UInt32 = 0, _ detail: String,
        with status: GRPCStatus? = nil
    ) {
        ending = ending ?? DevicePresence.Ending(ofRelay: reason)
        if let goodbye = link.goodbye(reason, retryAfterMilliseconds: retryAfterMilliseconds, detail: detail)
        {
            say(.goodbye(goodbye))
        }
        switch reason {
        case .shutdown, .overloaded:
            guard farewell == nil, let entry = currentEntry, entry.device.outstandingCount > 0 else {
                return end(reason.status, detail)
            }
            farewell = (reason.status, detail)
            entry.device.closing()
            arm(seconds: Self.farewellSeconds)
        case .replaced, .duplicated, .removed, .protocolError, .unspecified, .asleep:
            end(status ?? reason.status, detail)
        }
    }

    /// Ends the link's stream with a status. The connection ends when the device has ended the stream too, or after
    /// ``endingSeconds``.
    func end(_ status: GRPCStatus, _ message: String) {
        guard let linkStream, !isEnding else { return }
        isEnding = true
        endpoint.streams.finish(linkStream, trailers: GRPCResponse.trailers(status, message))
        connections.left(self)
        arm(seconds: Self.endingSeconds)
    }

    /// Ends the link with the status of the relay's goodbye, or with OK if the device has said goodbye.
    func endAsSaid() {
        end(farewell?.status ?? .ok, farewell?.detail ?? "")
    }

    /// The process that has sent this hello.
    func party(of hello: Hello) -> CloneWatch.Party {
        CloneWatch.Party(instance: hello.processInstance, address: endpoint.wire?.remoteHost ?? "")
    }

    /// Whether the device has not said hello yet.
    var isAwaitingHello: Bool { link.awaitsHello }

    /// Whether the device still waits for its welcome.
    var awaitsWelcome: Bool { linkStream != nil && !isEnding && entry == nil }

    private func receive(_ bytes: Span<UInt8>) {
        guard !isEnding else { return }
        do throws(CourierError) {
            try framing.takeAll(bytes) { message throws(CourierError) in
                if let event = try link.receive(try DeviceMessage(decoding: message)) { try take(event) }
            }
        } catch {
            ending = ending ?? .protocolError
            context.deviceEnds.noteBroken(error.description, by: endpoint.peer, kind: "\(error.status)")
            say(.goodbye(error.goodbye))
            end(error.status, error.description)
        }
    }

    private func take(_ event: RelayLink.Event) throws(CourierError) {
        let registrations = connections.registrations
        switch event {
        case .hello(let hello): connections.greet(self, hello)
        case .register(let topic, let environment): registrations.ask(.register(topic, environment), by: self)
        case .registerWebPush(let wish): registrations.ask(.registerWebPush(wish), by: self)
        case .unregister(let topic): registrations.ask(.unregister(topic), by: self)
        case .subscribe(let subscribe): registrations.ask(.subscribe(subscribe), by: self)
        case .unsubscribe(let channel): registrations.ask(.unsubscribe(channel), by: self)
        case .reception, .fetch, .acknowledged, .reported:
            if let entry = currentEntry { try take(event, for: entry) }
        case .goodbye(let goodbye):
            ending = ending ?? (goodbye.reason == .asleep ? .asleep : .goodbye)
            endAsSaid()
        }
    }

    private func take(_ event: RelayLink.Event, for entry: DeviceEntry) throws(CourierError) {
        let home = connections.home
        switch event {
        case .reception(let reception):
            entry.note(reception)
            home.with(entry) { device, now, tally, effects in
                device.receive(by: reception, now: now, &tally, &effects)
            }
        case .fetch:
            home.with(entry) { device, now, tally, effects in device.fetch(now: now, &tally, &effects) }
        case .acknowledged(let deliveries):
            let due = connections.linkEffects?.postponing(deliveries, of: self) ?? deliveries
            if let stranger = home.acknowledged(due, by: entry) {
                throw link.refuse(acknowledgementOf: stranger)
            }
            if farewell != nil, entry.device.outstandingCount == 0 { endAsSaid() }
        case .reported(let report): home.reported(report, by: entry)
        case .hello, .register, .registerWebPush, .unregister, .subscribe, .unsubscribe, .goodbye: break
        }
    }
}
