import PostriderCourier
import PostriderCrypto
import PostriderDeviceQueue
import PostriderEndpoints
import PostriderHTTP2
import PostriderNotifications
import PostriderTransport

/// One device's session: the gRPC service `Courier` on the device's connection. It begins on the shard that accepted
/// the connection, and moves to the device's home once the device has said hello.
///
/// If the home is on another node, the session stays, and passes what is said on to the home (``passage``). There it
/// has a second session, without a connection (``DeviceCarrier/edge(_:)``).
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
    var link = RelayLink()
    /// The framing of the link's stream.
    private var framing = MessageFraming(maxMessageBytes: Limits.deviceMessageBytes)
    /// What carries the link: the stream of `Connect`, of which a connection has at most one.
    private(set) var carrier = DeviceCarrier.none
    /// The way to the device's home, if that is on another node.
    var passage: DevicePassage?
    /// The device's subscriptions to channels; they end with the link.
    var subscriptions: [SubscriptionIntent: Subscription] = [:]
    var keepalive = Keepalive()
    /// How the link ended, if one of its ends has said so.
    var ending: DevicePresence.Ending?
    var stage = Stage.open
    /// The timer for the hello, then for the keepalive.
    var timer: (any LoopTimer)?

    /// The most seconds that a PING may stay unanswered.
    static let pongSeconds: UInt32 = 20

    /// How far the relay has ended the link.
    enum Stage {
        /// Not at all.
        case open
        /// The relay has said goodbye, and acknowledgements still count. Then the stream ends with this status.
        case farewell(GRPCStatus, String)
        /// The relay has ended the stream.
        case ending
    }

    init(among connections: DeviceConnections) {
        number = connections.context.drawNumber()
        self.connections = connections
    }

    /// A session at the home of a device whose connection another node has.
    init(at edge: DeviceEdge, among connections: DeviceConnections) {
        number = connections.context.drawNumber()
        self.connections = connections
        carrier = .edge(edge)
    }

    /// The context of its current shard.
    var context: ShardContext { connections.context }

    /// Its device, while this is the device's connection.
    var currentEntry: DeviceEntry? { entry.flatMap { $0.session === self ? $0 : nil } }

    /// The stream of the connection that carries the link; nil if there is none.
    var linkStream: Int32? { if case .stream(_, let stream) = carrier { stream } else { nil } }

    /// The device's end, for the log.
    var peer: Peer? { carrier.edge.map { Peer(address: $0.host) } ?? endpoint.peer }

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
        case .connect where !carrier.isMissing:
            refuse(stream, .failedPrecondition, "A connection carries one Connect stream.")
        case .connect:
            carrier = .stream(endpoint, stream)
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
            if let passage { connections.edges.streamEnded(of: self, over: passage) } else { endAsSaid() }
        } else if var framing = enrolments.end(stream) {
            enrol(stream, &framing)
        }
    }

    func closed(_ stream: Int32, errorCode: UInt32) {
        enrolments.forget(stream)
        guard stream == linkStream else { return }
        carrier = .none
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
    func takePlace() {
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
        // The node that has the connection watches over it.
        if carrier.edge == nil { beginKeepalive() } else { timer?.disarm() }
    }

    /// Sends a notification as the delivery of this number. After a goodbye nothing is sent and false is returned; the
    /// notification stays pending.
    ///
    /// - Parameter push: the number by which the device shall report what becomes of it; 0 if it need not.
    func deliver(_ notification: Notification, as delivery: UInt64, reportedAs push: UInt64) -> Bool {
        guard !carrier.isMissing, isLinkOpen else { return false }
        let sent = Delivery(notification, number: delivery, push: push)
        if connections.linkEffects?.takesOver(sent, of: self) != true { write(sent) }
        return true
    }

    /// Whether the device was let in and neither end has said goodbye.
    var isLinkOpen: Bool { link.isOpen && !isEnding }

    /// Whether the relay has ended the stream.
    var isEnding: Bool { if case .ending = stage { true } else { false } }

    /// Sends a message on the link, if the link is open. The goodbye is the last one.
    func say(_ message: RelayMessage) {
        guard case .open = stage else { return }
        carrier.send { MessageFraming.frame(message, into: &$0) }
    }

    /// This session, whose connection another node has, is over.
    func retire() {
        guard let edge = carrier.edge else { return }
        (stage, timer, entry) = (.ending, nil, nil)
        connections.remove(self)
        connections.edges.forget(edge)
    }

    /// The process that has sent this hello.
    func party(of hello: Hello) -> CloneWatch.Party {
        let host = carrier.edge?.host ?? endpoint.wire?.remoteHost ?? ""
        return CloneWatch.Party(instance: hello.processInstance, address: host)
    }

    /// Whether the device has not said hello yet.
    var isAwaitingHello: Bool { link.awaitsHello }

    /// Whether the device still waits for its welcome.
    var awaitsWelcome: Bool { !carrier.isMissing && !isEnding && entry == nil }

    private func receive(_ bytes: Span<UInt8>) {
        endIfBroken { () throws(CourierError) in
            try framing.takeAll(bytes) { message throws(CourierError) in
                if let passage {
                    connections.edges.passOn(message, of: self, over: passage)
                } else {
                    try handle(try DeviceMessage(decoding: message))
                }
            }
        }
    }

    /// Does something for messages of the device, which ends the link if the device breaks the protocol.
    func endIfBroken(_ body: () throws(CourierError) -> Void) {
        guard !isEnding else { return }
        do throws(CourierError) {
            try body()
        } catch {
            ending = ending ?? .protocolError
            context.deviceEnds.noteBroken(error.description, by: peer, kind: "\(error.status)")
            say(.goodbye(error.goodbye))
            end(error.status, error.description)
        }
    }

    /// Handles a message of the device.
    func handle(_ message: DeviceMessage) throws(CourierError) {
        if let event = try link.receive(message) { try connections.perform(event, of: self) }
    }
}
