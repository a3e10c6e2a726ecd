import PostriderChannels
import PostriderEndpoints
import PostriderHTTP2
import PostriderNotifications
import PostriderTransport
import RelayFixtures
import Testing

@testable import PostriderDeviceQueue
@testable import PostriderProviderAPI
@testable import PostriderRelay

/// One shard with one provider connection: a real session at each end, or raw frames at the provider's end. The test
/// controls the ledger and the time.
final class ProviderFixture {
    let clock = HandClock()
    let answers = Answers()
    private let logged = LoggedLines()
    /// The frames that the relay has sent.
    private(set) var frames: [WireFrame] = []
    let shard: Shard
    private let wire: TestWire
    private let session: ProviderSession
    private let client: HTTP2Connection
    private let ledger = LedgerBox()
    private let nodes = NodeBox()

    init(
        _ environment: PostriderNotifications.Environment = .production,
        fidelity: APNsCompatibility = APNsCompatibility(),
        idleMilliseconds: Int = 60_000, peer: Peer = Peer(address: "test"),
        client settings: SessionSettings = SessionSettings(), quotas: [String] = [],
        bench: TestBench? = nil, lookups: LookupPermissions = .init(), trace: TraceRecorder = .init()
    ) throws {
        let context = ShardContext(
            index: 0,
            scheduler: clock,
            outbox: Outbox(
                ownIndex: 0, shards: [{ $0.isEmpty }], ledger: { [ledger] in ledger.take(&$0) },
                nodes: { [nodes] in nodes.take(&$0) }),
            rows: RowSequence(after: QueueRow(0)),
            codec: try DeviceTokenCodec(secrets: [Provider.secret]),
            policies: PolicyInForce(Provider.shared.authority),
            random: Numbers(), trace: trace,
            log: logged.log)
        let shardSettings = ShardSettings(
            compatibility: fidelity, providerIdleMilliseconds: idleMilliseconds, bench: bench,
            lookups: lookups, quotas: QuotaSet(quotas.compactMap(Quota.init)))
        shard = Shard(
            context, shardSettings, migrator: ConnectionMigrator(detach: { _ in nil }, adopt: { _ in nil }))
        let entry = DeviceEntry(Samples.record)
        var (tally, effects) = (Tally(), [HomeEffect]())
        for number in [Samples.first, Self.development] {
            entry.device.apply(Samples.registration(number), &tally, &effects)
        }
        shard.home.entries[Samples.device] = entry
        shard.home.chargeAll()
        session = ProviderSession(environment: environment, among: shard.providers)
        client = HTTP2Connection(role: .client, settings: settings, handler: answers)
        wire = TestWire(session.endpoint, peer: peer)
        session.endpoint.opened(on: wire)
    }

    static let development = RegistrationNumber(1, in: .development)
    static let developmentToken: String = {
        guard let seal = try? DeviceTokenCodec(secrets: [Provider.secret]) else {
            preconditionFailure("the secret is good")
        }
        return seal.seal(Samples.device, development).hex
    }()

    /// The reason for which the relay closed the connection; nil if it is open.
    var closed: CloseReason? { wire.closed }

    /// Ends the connection and returns its log lines of level info and above.
    func end() -> [Log.Line] {
        session.endpoint.closed(wire.closed ?? .peerClosed)
        return logged.all.filter { $0.level <= .info }
    }

    // MARK: With a client's session

    /// Sends a push and returns its stream. By default the push is now or never, so that its answer needs no ledger.
    @discardableResult
    func push(
        _ changes: [String: String?] = [:], isKept: Bool = false, body: [UInt8] = Array("{}".utf8)
    ) throws -> Int32 {
        var changes = changes
        if changes["host"] == nil { changes[":authority"] = changes[":authority"] ?? "relay" }
        if !isKept { changes["apns-expiration"] = "0" }
        var block = HeaderBlock()
        let fields = Provider.shared.fields(changes)
        // Pseudo-header fields come first.
        for (name, value) in fields.filter({ $0.0.hasPrefix(":") }) + fields.filter({ !$0.0.hasPrefix(":") })
        {
            block.add(name, value)
        }
        return try client.request(block, body: body)
    }

    /// Sends a request about the channels of the first app.
    func ask(_ method: String, _ path: String) throws -> Int32 {
        try client.request([
            ":method": method, ":scheme": "https", ":authority": "relay",
            ":path": "/1/apps/" + Samples.topic.text + path,
            "authorization": "bearer " + Provider.goodToken,
        ])
    }

    /// Looks up something of the first app.
    func lookUp(_ path: String) throws -> Int32 {
        try client.request([
            ":method": "GET", ":scheme": "https", ":authority": "relay", ":path": path,
            "authorization": "bearer " + Provider.goodToken, "apns-topic": Samples.topic.text,
        ])
    }

    /// Gives the device a name and a tag.
    func label(_ name: String, _ tag: DeviceTag) {
        turn {
            let record = DeviceRecord(
                identity: Samples.device, secretDigest: [], name: name, enrolledAt: Samples.now)
            shard.directory.enrolled(record, [tag])
        }
    }

    /// Creates this many channels of the first app.
    func makeChannels(_ count: Int) {
        for number in 0..<count {
            shard.channels.registry.restore(
                ChannelRecord(
                    identity: ChannelIdentity(high: 1, low: UInt64(number)),
                    owner: ChannelOwner(topic: Samples.topic, environment: .production), storage: .nothing,
                    createdAt: Samples.now))
        }
    }

    /// Fills the ledger's mailbox and stops the ledger.
    func stopLedger() {
        ledger.isStopped = true
        for number in 1...Limits.mailboxMessages {
            shard.context.outbox.send(.settle(QueueRow(Int64(number))))
        }
    }

    /// Transfers bytes in both directions until neither side has any to send.
    func run() throws {
        turn {}
        while client.wantsToSend || wire.isDirty {
            var bytes: [UInt8] = []
            client.drain(into: &bytes)
            if !bytes.isEmpty { hear(bytes) }
            let sent = flush()
            if !sent.isEmpty { try client.receive(sent.span) }
        }
    }

    /// Lets the ledger commit everything that it was asked to.
    func commit() {
        turn {
            var messages: [ShardMessage] = [.push(.stored(ledger.takeStored(), failure: nil))]
            shard.receive(&messages)
        }
    }

    func drain() { turn { shard.drain() } }

    /// Lets the shard receive a message.
    func receive(_ message: ShardMessage) {
        var messages = [message]
        turn { shard.receive(&messages) }
    }

    /// The messages for other nodes, which are taken.
    func takeForNodes() -> [NodeMessage] { nodes.takeAll() }

    /// The shard's counters.
    var report: ShardReport { shard.report }

    /// Applies a reload with these quotas.
    func reload(quotas: [String]) {
        let next = QuotaSet(quotas.compactMap(Quota.init), after: shard.context.quotas.shared)
        turn { shard.apply(ShardSettings(quotas: next)) }
    }

    /// The meters of all teams and topics with a quota.
    var meters: [QuotaMeter] { shard.context.quotas.shared.all }

    func advance(byMilliseconds interval: Int) { turn { clock.advance(byMilliseconds: interval) } }

    // MARK: With bare frames

    /// Sends these bytes as the provider and returns the relay's frames.
    @discardableResult
    func say(_ bytes: [UInt8]) -> [WireFrame] {
        let count = frames.count
        hear(bytes)
        _ = flush()
        return Array(frames[count...])
    }

    // MARK: One turn of the relay's loop

    private func hear(_ bytes: [UInt8]) {
        // A connection that is being closed ignores further bytes.
        guard wire.closed == nil else { return }
        turn { session.endpoint.received(bytes.span) }
    }

    private func turn(_ event: () -> Void) {
        event()
        shard.turnEnded()
    }

    /// Returns the bytes that the connection has to send.
    private func flush() -> [UInt8] {
        var bytes: [UInt8] = []
        while wire.isDirty {
            wire.isDirty = false
            session.endpoint.flush(into: &bytes)
        }
        frames += WireFrame.all(in: bytes)
        return bytes
    }
}

/// Records the events at the provider's end.
final class Answers: SessionHandler {
    struct Answer {
        var status = 0
        var fields: [String: String] = [:]
        var body = ""
    }

    private(set) var all: [Int32: Answer] = [:]
    private(set) var farewells: [String] = []

    func status(_ stream: Int32) -> Int? { all[stream]?.status }

    func headers(_ stream: Int32, _ block: inout HeaderBlock, kind: BlockKind, endStream: Bool) {
        var answer = Answer()
        answer.status = block.text(of: ":status").flatMap { Int($0) } ?? 0
        for name in ["apns-id", "apns-unique-id", "retry-after"] {
            answer.fields[name] = block.text(of: name)
        }
        all[stream] = answer
    }

    func data(_ stream: Int32, _ bytes: Span<UInt8>) {
        all[stream]?.body += String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self)
    }

    func ended(_ stream: Int32) {}
    func closed(_ stream: Int32, errorCode: UInt32) {}

    func goawayReceived(lastStream: Int32, errorCode: UInt32, debug: [UInt8]) {
        farewells.append("\(lastStream) \(errorCode) \(String(decoding: debug, as: UTF8.self))")
    }
}

/// A connection output that records the calls.
final class TestWire: ConnectionOutput {
    let peer: Peer
    var isDirty = false
    private(set) var closed: CloseReason?
    let isBlocked = false

    init(_ endpoint: HTTP2Handler, peer: Peer) { self.peer = peer }

    func setNeedsFlush() { isDirty = true }

    func close(_ reason: CloseReason) {
        guard closed == nil else { return }
        closed = reason
        isDirty = true
    }

    func abort(_ reason: CloseReason) { closed = reason }
}

/// Returns increasing numbers where the relay draws random ones.
final class Numbers: RandomSource {
    private var last: UInt64 = 0

    func next() -> UInt64 {
        last += 0xABCD_EF01_2345
        return last
    }

    func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) } }
}
