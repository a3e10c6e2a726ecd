import PostriderChannels
import PostriderCourier
import PostriderCrypto
import PostriderEndpoints
import PostriderHTTP2
import PostriderNotifications
import PostriderRules
import PostriderTransport
import RelayFixtures
import Testing

@testable import PostriderDeviceQueue
@testable import PostriderProviderAPI
@testable import PostriderRelay

/// One shard and devices that are connected to it, with a real session at each end of each connection. The test
/// controls the ledger and the time.
final class DeviceFixture {
    static let secret = [UInt8](repeating: 9, count: Limits.deviceSecretBytes)
    static let channel = ChannelIdentity(high: 5, low: 6)

    let clock = HandClock()
    let ledger = HandLedger()
    /// What is to be sent to other nodes.
    let nodes = NodeBox()
    private let complaints = LoggedLines()
    private(set) lazy var shard = makeShard()
    private let seal: DeviceTokenCodec
    private let throttle: ReconnectThrottle
    private let hasDevelopment: Bool
    private let rules: DeviceRules
    private let bench: TestBench?
    private let webOrigin: String
    private var lines: [DeviceClientConnection] = []
    private var senders: [WebClientConnection] = []

    /// Creates a shard with this many enrolled devices, each with both apps.
    init(
        devices count: Int = 1, throttle: ReconnectThrottle = ReconnectThrottle(),
        hasDevelopment: Bool = true,
        rules: DeviceRules = DeviceRules(), bench: TestBench? = nil, webOrigin: String = ""
    ) throws {
        self.webOrigin = webOrigin
        seal = try DeviceTokenCodec(secrets: [Provider.secret])
        self.throttle = throttle
        self.hasDevelopment = hasDevelopment
        self.rules = rules
        self.bench = bench
        for number in 0..<count { enrol(Self.identity(number)) }
    }

    static func identity(_ number: Int) -> DeviceIdentity {
        DeviceIdentity(high: Samples.device.high, low: Samples.device.low + UInt32(number))
    }

    private func makeShard() -> Shard {
        let context = ShardContext(
            index: 0,
            scheduler: clock,
            outbox: Outbox(
                ownIndex: 0, shards: [{ $0.isEmpty }], ledger: { [ledger] in ledger.take(&$0) },
                nodes: { [nodes] in nodes.take(&$0) }),
            rows: RowSequence(after: QueueRow(0)),
            codec: seal,
            policies: PolicyInForce(Provider.shared.authority),
            random: Numbers(),
            log: complaints.log)
        var settings = ShardSettings(
            protocolCode: EachProtocolCode.current, deviceRules: rules, throttle: throttle,
            hasDevelopment: hasDevelopment, bench: bench)
        settings.webOrigin = webOrigin
        let migrator = ConnectionMigrator(detach: { _ in nil }, adopt: { _ in nil })
        return Shard(context, settings, migrator: migrator)
    }

    /// The log lines of level error.
    var errors: [String] { logged.filter { $0.level == .error }.map(\.text) }

    /// All log lines.
    var logged: [Log.Line] { complaints.all }

    private func enrol(_ identity: DeviceIdentity) {
        let entry = DeviceEntry(
            DeviceRecord(
                identity: identity, secretDigest: SHA256.digest(Self.secret.span).bytes, name: "device",
                enrolledAt: Samples.now))
        let registrations = [
            Samples.registration(on: identity),
            Samples.registration(Samples.second, of: Samples.otherTopic, on: identity),
        ]
        shard.home.entries[identity] = entry
        shard.home.with(entry) { device, _, tally, effects in
            for record in registrations { device.apply(record, &tally, &effects) }
        }
    }

    /// Connects the device of this number and sends its hello.
    func connect(
        _ number: Int = 0, by reception: Reception = .usual, instance: UInt64 = 0, saysHello: Bool = true
    ) throws -> DeviceClientConnection {
        let line = try DeviceClientConnection(
            shard,
            Hello(
                deviceIdentity: Self.identity(number), deviceSecret: Self.secret, keepaliveSeconds: 1800,
                agent: "test/1", reception: reception, processInstance: instance), saysHello: saysHello)
        lines.append(line)
        try run()
        return line
    }

    /// Offers a notification for the first app of a device. A rule may do something to the device.
    func push(
        _ number: UInt64, priority: Priority = .immediate, to device: Int = 0,
        until expiration: Moment = Samples.now.advanced(byMilliseconds: 60_000),
        disturbedBy effect: DeviceEffect? = nil
    ) throws {
        let notification = Samples.notification(
            number, priority: priority, expiration: .at(expiration), device: Self.identity(device))
        if let effect { bench?.plan(effect, for: notification, at: shard.context.now) }
        shard.context.outbox.send(.push(.deliver(notification, Samples.replyAddress(Int(number)))), to: 0)
        try run()
    }

    /// Posts a message of Web Push, and returns the connection on which its answer comes.
    func post(_ body: [UInt8], to endpoint: String, _ fields: [String: String] = [:]) throws
        -> WebClientConnection
    {
        let sender = WebClientConnection(WebConnection(on: shard.web), "http/1.1")
        senders.append(sender)
        try sender.request("POST", endpoint, WebClientConnection.usual.merging(fields) { $1 }, body)
        try run()
        return sender
    }

    /// Creates a channel of the first app. It may have a stored broadcast that expires after a minute.
    func makeChannel(of topic: Topic = Samples.topic, storing number: UInt64? = nil) {
        shard.channels.registry.restore(
            ChannelRecord(
                identity: Self.channel, owner: ChannelOwner(topic: topic, environment: .production),
                storage: number == nil ? .nothing : .mostRecent, createdAt: Samples.now))
        guard let number else { return }
        let end = Samples.now.advanced(byMilliseconds: 60_000)
        shard.channels.registry.restore(makeBroadcast(number, until: .at(end)))
    }

    private func makeBroadcast(_ number: UInt64, until expiration: Expiration) -> Broadcast {
        Broadcast(
            identity: NotificationIdentity(high: 8, low: number), channel: Self.channel, topic: Samples.topic,
            payload: Array("{}".utf8), priority: .immediate, expiration: expiration,
            pushType: .liveactivity, acceptedAt: Samples.now)
    }

    /// Broadcasts to the channel, as a provider does.
    func broadcast(_ number: UInt64) throws {
        let broadcast = makeBroadcast(number, until: .nowOrNever)
        shard.context.outbox.send(.channel(.broadcast(broadcast, QueueRow(Int64(number)))), to: 0)
        try run()
    }

    /// Lets the ledger do all that it was asked to do.
    func commit(isDurable: Bool = true) throws {
        var messages = ledger.work(isDurable: isDurable)
        shard.receive(&messages)
        try run()
    }

    /// Lets the shard receive a message.
    func receive(_ message: ShardMessage) throws {
        var messages = [message]
        shard.receive(&messages)
        try run()
    }

    func advance(byMilliseconds interval: Int) throws {
        clock.advance(byMilliseconds: interval)
        try run()
    }

    /// Transfers bytes in both directions until neither side has any to send.
    func run() throws { repeat { shard.turnEnded() } while try isBusy() }

    private func isBusy() throws -> Bool {
        let hasSent = senders.map { $0.flush() }.contains(true)
        return try lines.map { try $0.exchange() }.contains(true) || hasSent
    }
}

/// The device's end of one connection.
final class DeviceClientConnection: SessionHandler {
    private(set) var heard: [RelayMessage] = []
    /// The status with which the stream ended.
    private(set) var status: GRPCStatus?
    /// Whether everything that the relay sends is lost, for now.
    var isDeaf = false
    private var undelivered: [UInt8] = []
    let session: DeviceSession
    private lazy var client = HTTP2Connection(role: .client, handler: self)
    private let wire: TestWire
    private var link: DeviceLink
    private var framing = MessageFraming(maxMessageBytes: Limits.relayMessageBytes)
    private var stream: Int32 = 0

    init(_ shard: Shard, _ hello: Hello, saysHello: Bool) throws {
        session = DeviceSession(among: shard.devices)
        wire = TestWire(session.endpoint, peer: Peer(address: "test"))
        link = DeviceLink(hello: hello, wanted: [:], unwanted: [])
        session.endpoint.opened(on: wire)
        stream = try client.openRequest([
            ":method": "POST", ":scheme": "https", ":authority": "relay",
            ":path": "/postrider.courier.v1.Courier/Connect", "content-type": "application/grpc",
        ])
        let hello = link.start()
        if saysHello { say(hello) }
    }

    /// The reason for which the relay closed the connection; nil if it is open.
    var closed: CloseReason? { wire.closed }

    var goodbye: Goodbye? {
        for case .goodbye(let goodbye) in heard { return goodbye }
        return nil
    }

    /// The numbers of the notifications that arrived.
    var delivered: [UInt64] {
        heard.compactMap { if case .deliver(let deliver) = $0 { deliver.identity.low } else { nil } }
    }

    /// The messages that arrived, without notifications and the welcome.
    var news: [RelayMessage] {
        heard.filter {
            switch $0 {
            case .welcome, .deliver: false
            default: true
            }
        }
    }

    func say(_ message: DeviceMessage?) {
        guard let message else { return }
        var frame: [UInt8] = []
        MessageFraming.frame(message, into: &frame)
        client.send(stream, frame.span)
    }

    /// Acknowledges everything that arrived.
    func acknowledgeAll() { say(link.send(.acknowledge(unacknowledged.removeAndTake()))) }

    private var unacknowledged: [UInt64] = []

    fileprivate func exchange() throws -> Bool {
        var bytes: [UInt8] = []
        client.drain(into: &bytes)
        if !bytes.isEmpty, wire.closed == nil { session.endpoint.received(bytes.span) }
        var sent: [UInt8] = []
        while wire.isDirty {
            wire.isDirty = false
            session.endpoint.flush(into: &sent)
        }
        let arrived = isDeaf ? [] : undelivered + sent
        undelivered = isDeaf ? undelivered + sent : []
        if !arrived.isEmpty { try client.receive(arrived.span) }
        return !bytes.isEmpty || !sent.isEmpty || !arrived.isEmpty
    }

    func headers(_ stream: Int32, _ block: inout HeaderBlock, kind: BlockKind, endStream: Bool) {
        guard endStream, let text = block.value(of: "grpc-status") else { return }
        status = GRPCStatus(text.span)
    }

    func data(_ stream: Int32, _ bytes: Span<UInt8>) {
        framing.feed(bytes)
        do throws(CourierError) {
            while let message = try framing.next(RelayMessage.self) {
                heard.append(message)
                if case .deliver(let deliver) = try link.receive(message) {
                    unacknowledged.append(deliver.delivery)
                }
            }
        } catch {
            Issue.record("the relay broke the protocol: \(error)")
        }
    }

    func ended(_ stream: Int32) {}
    func closed(_ stream: Int32, errorCode: UInt32) {}
    func goawayReceived(lastStream: Int32, errorCode: UInt32, debug: [UInt8]) {}
}

extension [UInt64] {
    /// Removes all elements and returns them.
    fileprivate mutating func removeAndTake() -> [UInt64] {
        defer { self = [] }
        return self
    }
}
