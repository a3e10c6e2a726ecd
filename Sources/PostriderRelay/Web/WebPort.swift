import PostriderCourier
import PostriderCrypto
import PostriderDeviceQueue
import PostriderNotifications
import PostriderProviderAPI
import PostriderTransport

/// The web port on one shard: senders' requests, and browsers as devices.
final class WebPort {
    let context: ShardContext
    let routes: WebRoutes
    let home: WebHome
    /// The requests of senders whose home is this shard.
    let requests: SenderRequests
    /// Browsers whose connection and whose home are on different nodes.
    private(set) lazy var edges = WebEdges(self)
    private let devices: DeviceHome
    private let migrator: ConnectionMigrator
    /// The WebSockets on this shard, whether their browsers are let in or not.
    private(set) var sessions: [UInt64: WebDeviceSession] = [:]
    /// WebSockets whose browsers have presented themselves in this turn and have another home.
    private var departures: [WebDeviceSession] = []

    /// - Parameter origin: the origin of the addresses of subscriptions; empty if there is no web port.
    init(
        _ context: ShardContext, _ devices: DeviceHome, _ changes: RegistryChanges,
        _ migrator: ConnectionMigrator, origin: String
    ) {
        self.context = context
        self.devices = devices
        self.migrator = migrator
        routes = WebRoutes(context, origin: origin)
        home = WebHome(context, devices, changes, routes)
        requests = SenderRequests(context, devices, changes, home, origin: origin)
    }

    func add(_ session: WebDeviceSession) { sessions[session.number] = session }
    func remove(_ session: WebDeviceSession) { sessions[session.number] = nil }

    /// The number of connections of browsers that this shard has.
    var connectionCount: Int { sessions.count - edges.remoteCount }

    var isEmpty: Bool { sessions.isEmpty && routes.senders.isEmpty }

    func take(_ message: WebMessage) {
        switch message {
        case .request(let request, let address): requests.take(request, address)
        case .accepted(let address, let row, let hasReceipt):
            routes.accepted(address, row, hasReceipt: hasReceipt)
        case .receipts(let receipts, let address): routes.answer(address, receipts)
        case .removed(let address): routes.removed(address)
        case .refused(let rejection, let address): routes.refused(address, rejection)
        case .receipt(let receipt): home.readers.take(receipt)
        case .found(let device, let address): routes.found(device, address)
        case .findDevice: preconditionFailure("shard 0 finds devices by its directory")
        case .arrived(let connection): adopt(connection)
        }
    }

    /// The relay stops.
    func drain() {
        home.readers.drain()
        for (_, sender) in routes.senders.sorted(by: { $0.key < $1.key }) { sender.drain() }
        for (_, session) in sessions.sorted(by: { $0.key < $1.key }) {
            session.leave(.shutdown, retryAfterMilliseconds: 1_000, "the relay is shutting down")
        }
    }

    /// Cuts the connections that have not ended within the time of the drain.
    func abort() {
        for sender in Array(routes.senders.values) { sender.abort() }
        for session in Array(sessions.values) { session.abort() }
    }

    // MARK: Hello

    /// A browser has said hello on this shard: it is let in here, or moves to its home, or enrols. If its home is on
    /// another node, the connection stays, and what is said over it is passed on.
    func greet(_ session: WebDeviceSession) {
        guard !context.isDraining else {
            return session.leave(.shutdown, retryAfterMilliseconds: 1_000, "the relay is shutting down")
        }
        guard let identity = session.presented else { return enrol(session) }
        guard let place = context.outbox.place(of: identity.device) else { return edges.postpone(session) }
        if place == context.index {
            // The places may be older than the end of the node's time.
            guard !context.isElsewhere(identity.device) else { return edges.postpone(session) }
            letIn(session, identity)
        } else if ShardPlace(place).link != nil {
            edges.passOn(session, as: identity, to: ShardPlace(place))
        } else {
            departures.append(session)
        }
    }

    /// Sends WebSockets to the homes of their browsers, at the end of the turn, because a session may still be
    /// processing input.
    func sendDepartures() {
        guard !departures.isEmpty else { return }
        let due = departures
        departures = []
        for session in due {
            guard let identity = session.presented, let wire = session.carrier.socket?.wire,
                let connection = migrator.detach(wire)
            else { continue }
            session.depart()
            context.outbox.send(
                .web(.arrived(connection: connection)), to: context.home(of: identity.device))
        }
    }

    private func adopt(_ connection: UInt64) {
        guard let session = (migrator.adopt(connection) as? WebConnection)?.session else {
            preconditionFailure("a WebSocket on its way carries a browser's session")
        }
        session.arrive(at: self, number: context.drawNumber())
        greet(session)
    }

    /// Verifies the secret and makes this the browser's connection. The newest wins. A browser that is not known gets
    /// a new identity, if its URL permits that, and then forgets its subscriptions.
    private func letIn(_ session: WebDeviceSession, _ identity: WebIdentity) {
        guard let entry = devices.entries[identity.device],
            case let known = entry.device.record.secretDigest,
            constantTimeEquals(identity.secretDigest.span, known.span)
        else { return enrol(session) }
        if entry.pendingCount > 0, let wait = devices.throttle.slot(now: context.scheduler.now) {
            return session.leave(
                .overloaded, retryAfterMilliseconds: wait, "many devices have returned at once")
        }
        attach(session, to: entry, as: identity)
    }

    private func attach(_ session: WebDeviceSession, to entry: DeviceEntry, as identity: WebIdentity) {
        let older = devices.replaceConnection(of: entry)
        devices.noteSeen(entry)
        devices.settleIn(entry)
        session.welcome(entry, as: identity)
        entry.session = session
        entry.promptness = AckLatency()
        devices.noteConnected(entry, at: session.party.address, agent: "web", insteadOf: older)
        devices.with(entry) { device, now, tally, effects in
            device.connected(now: now, &tally, &effects)
        }
        context.log.info(
            "browser \(entry.identity) connected, \(entry.pendingCount) pending",
            fields: .init(connection: session.carrier.address, device: entry.identity.description))
    }

    /// The connection of a browser has ended. Messages in flight are pending again.
    func left(_ session: WebDeviceSession, _ ending: DevicePresence.Ending) {
        guard let entry = session.currentEntry else { return }
        devices.connectionEnded(of: entry, ending)
        context.log.info(
            "browser \(entry.identity) left, \(entry.pendingCount) pending",
            fields: .init(connection: session.carrier.address, device: entry.identity.description))
    }

    /// Whether the message of deliveries that have not been sent yet is still to be delivered. If not, they are over.
    func isStillToBeSent(_ deliveries: [UInt64], to entry: DeviceEntry) -> Bool {
        devices.with(entry) { device, now, tally, effects in
            device.isStillToBeSent(deliveries, now: now, &tally, &effects)
        }
    }

    /// A browser has acknowledged a message, whose deliveries these are.
    func acknowledged(_ deliveries: [UInt64], by entry: DeviceEntry) {
        let stranger = devices.acknowledged(deliveries, by: entry)
        precondition(stranger == nil, "a session acknowledges what it has sent, once")
    }

    // MARK: Enrolment

    /// A new browser. Its identity is drawn so that this shard is its home.
    private func enrol(_ session: WebDeviceSession) {
        let key = context.policy.enrolmentKey(of: Array(session.enrolmentKey.utf8))
        guard let key, key.endsAt.map({ context.now < $0 }) ?? true, key.permits(name: Self.name) else {
            return refuse(session, "unknown enrolment key in the URL")
        }
        let device = context.drawIdentity(draws: Limits.identityDraws * context.outbox.shardCount) {
            [context] in
            context.home(of: $0) == context.index && devices.entries[$0] == nil
        }
        guard let device else {
            return session.leave(
                .overloaded, retryAfterMilliseconds: 5_000, "the node serves no devices at the moment")
        }
        guard context.enrolmentUses.take(of: key) else { return refuse(session, "used-up enrolment key") }
        let identity = WebIdentity(device: device, secret: context.random.bytes(WebIdentity.secretBytes))
        session.presented = identity
        let record = DeviceRecord(
            identity: device, secretDigest: identity.secretDigest, name: Self.name, enrolledAt: context.now)
        let address = ReplyAddress(shard: Int32(context.index), stream: 0, connection: session.number)
        devices.enrol(record, key.tags, key.digest, address)
    }

    /// The name of every browser that enrols; the operator may give it another one.
    private static let name = "browser"

    private func refuse(_ session: WebDeviceSession, _ reason: String) {
        context.webEnds.noteRefusedDevice("a browser", reason, from: session.carrier.socket?.wire?.peer)
        session.refuse()
    }

    /// The answer for a browser that enrolled over a WebSocket of this shard.
    func enrolled(_ address: ReplyAddress, _ device: DeviceIdentity, _ refusal: EnrolmentRefusal?) {
        guard let session = sessions[address.connection], let identity = session.presented else { return }
        if case .usedUp? = refusal { return refuse(session, "used-up enrolment key") }
        guard refusal == nil, let entry = devices.entries[device] else {
            return session.leave(
                .overloaded, retryAfterMilliseconds: 5_000, "devices cannot be stored now")
        }
        attach(session, to: entry, as: identity)
    }
}

/// What a browser presents: its device identity and its secret, as hexadecimal digits one after the other.
struct WebIdentity: Sendable {
    let device: DeviceIdentity
    let secret: [UInt8]

    static let secretBytes = 16

    init(device: DeviceIdentity, secret: [UInt8]) {
        self.device = device
        self.secret = secret
    }

    /// Reads the digits; nil if the text has another form, such as an identity from another service.
    init?(_ text: String) {
        guard let bytes = Hexadecimal.bytes(text),
            bytes.count == DeviceIdentity.byteCount + Self.secretBytes,
            let device = DeviceIdentity(bytes: Array(bytes.prefix(DeviceIdentity.byteCount)))
        else { return nil }
        self.init(device: device, secret: Array(bytes.dropFirst(DeviceIdentity.byteCount)))
    }

    var text: String { Hexadecimal.text(device.bytes + secret) }

    var secretDigest: [UInt8] { SHA256.digest(secret.span).bytes }
}
