import PostriderCourier
import PostriderCrypto
import PostriderDeviceQueue
import PostriderEndpoints
import PostriderNotifications
import PostriderProviderAPI
import PostriderTransport

/// The device connections on one shard: enrolment, hello, the move to the device's home, and the end.
final class DeviceConnections {
    let context: ShardContext
    let home: DeviceHome
    let registrations: RegistrationRequests
    private let refusals: EnrolmentRefusals
    private let migrator: ConnectionMigrator
    /// All connections by their numbers, whether they are welcomed or not.
    private(set) var sessions: [UInt64: DeviceSession] = [:]
    /// Connections that have said hello in this turn and whose home is another shard.
    private var departures: [(session: DeviceSession, hello: Hello)] = []

    private var keyWarnings = EnrolmentKeyWarnings()
    /// What rules do to links; nil on a relay in production.
    let linkEffects: LinkEffects?
    /// The devices whose connection and whose home are on different nodes.
    private(set) lazy var edges = DeviceEdges(self)

    /// The engine of a link once it is open. A reload changes it for connections that say hello later.
    var deviceLinks: ProtocolCode.DeviceLinks

    init(
        _ context: ShardContext, _ home: DeviceHome, _ registrations: RegistrationRequests,
        _ refusals: EnrolmentRefusals, _ migrator: ConnectionMigrator,
        _ deviceLinks: ProtocolCode.DeviceLinks,
        _ bench: TestBench?
    ) {
        self.context = context
        self.home = home
        self.registrations = registrations
        self.refusals = refusals
        self.migrator = migrator
        self.deviceLinks = deviceLinks
        linkEffects = bench.map { LinkEffects($0, on: context.scheduler) }
    }

    var subscriptions: ChannelSubscriptions { registrations.subscriptions }
    var isEmpty: Bool { sessions.isEmpty }
    /// The number of connections that this shard itself has.
    var connectionCount: Int { sessions.count - edges.remoteCount }

    func add(_ session: DeviceSession) { sessions[session.number] = session }
    func remove(_ session: DeviceSession) { sessions[session.number] = nil }

    /// The relay stops: tells devices when to come back.
    func drain() {
        refusals.tellAll()
        for (_, session) in sessions.sorted(by: { $0.key < $1.key }) { session.drain() }
    }

    /// Cuts the connections that have not ended within the time of the drain.
    func abort() {
        for session in Array(sessions.values) {
            if session.carrier.edge == nil {
                session.endpoint.wire?.abort(.localClose)
            } else {
                session.end(.unavailable, "the relay is shutting down")
            }
        }
    }

    // MARK: Enrolment

    /// A device asks to be enrolled over a connection of this shard. Its home makes it durable.
    func enrol(_ request: EnrollRequest, secret: [UInt8], for session: DeviceSession, _ stream: Int32) {
        guard let key = context.policy.enrolmentKey(of: Array(request.enrolmentKey.utf8)) else {
            note(.unknownKey, session)
            return refusals.tell(session.endpoint.peer?.source) { [weak session] in
                session?.enrolled(stream, .failure(.unknownKey))
            }
        }
        if let refusal = refusal(of: request, with: key) {
            note(refusal, session)
            return session.enrolled(stream, .failure(refusal))
        }
        let own = request.tags.compactMap(DeviceTag.init)
        let tags = Set(key.tags + own).sorted()
        guard own.count == request.tags.count, tags.count <= Limits.tagsPerDevice else {
            return session.enrolled(stream, .failure(.wrongTags))
        }
        guard let identity = context.drawIdentity() else {
            note(.servesNone, session)
            return session.enrolled(stream, .failure(.servesNone))
        }
        guard context.enrolmentUses.take(of: key) else {
            let refusal = EnrolmentRefusal.usedUp(key: key.name, uses: key.uses ?? 0)
            note(refusal, session)
            return session.enrolled(stream, .failure(refusal))
        }
        let record = DeviceRecord(
            identity: identity,
            secretDigest: SHA256.digest(secret.span).bytes,
            name: request.name,
            enrolledAt: context.now
        )
        let address = ReplyAddress(shard: Int32(context.index), stream: stream, connection: session.number)
        context.outbox.send(
            .device(.enrol(record, tags, key: key.digest, address)), to: context.home(of: record.identity))
    }

    private func note(_ refusal: EnrolmentRefusal, _ session: DeviceSession) {
        context.deviceEnds.noteRefusedDevice("an enrolment", refusal.reason, from: session.endpoint.peer)
    }

    /// Why a key does not permit an enrolment; nil if it does, apart from its number of uses.
    private func refusal(of request: EnrollRequest, with key: EnrolmentKeyRecord) -> EnrolmentRefusal? {
        if let end = key.endsAt, end <= context.now { return .ended(key: key.name, at: end) }
        guard key.permits(name: request.name) else {
            return .wrongName(key: key.name, pattern: key.namePattern ?? "*")
        }
        return nil
    }

    /// Warns of enrolment keys that end soon.
    func warnOfKeys() {
        keyWarnings.look(
            at: context.policy.enrolmentKeys, context.enrolmentUses, now: context.now, context.log)
    }

    /// The home's answer for a device that enrolled over a connection of this shard.
    func enrolled(_ address: ReplyAddress, _ identity: DeviceIdentity, _ refusal: EnrolmentRefusal?) {
        guard let session = sessions[address.connection] else { return }
        if let refusal, case .usedUp = refusal { note(refusal, session) }
        session.enrolled(address.stream, refusal.map { .failure($0) } ?? .success(identity))
    }

    // MARK: Hello

    /// A device has said hello on this shard: it is let in here, or moves to its home. If that is on another node, the
    /// connection stays, and what is said over it is passed on.
    func greet(_ session: DeviceSession, _ hello: Hello) {
        guard !context.isDraining else {
            return session.leave(.shutdown, retryAfterMilliseconds: 1_000, "the relay is shutting down")
        }
        guard let place = context.outbox.place(of: hello.deviceIdentity) else {
            return edges.postpone(session, "no node serves the device at the moment")
        }
        if place == context.index {
            // The places may be older than the end of the node's time.
            guard !context.isElsewhere(hello.deviceIdentity) else {
                return edges.postpone(session, "no node serves the device at the moment")
            }
            letIn(session, hello)
        } else if ShardPlace(place).link != nil {
            edges.passOn(session, hello, to: ShardPlace(place))
        } else {
            departures.append((session, hello))
        }
    }

    /// Sends connections that said hello in this turn to their homes. This waits for the end of the turn, because a
    /// session may still be processing input. And it waits for enrolments over the connection, whose answers come to
    /// this shard.
    func sendDepartures() {
        guard !departures.isEmpty else { return }
        let due = departures.filter(\.session.awaitsWelcome)
        departures = due.filter(\.session.isEnrolling)
        for (session, hello) in due where !session.isEnrolling {
            guard let wire = session.endpoint.wire, let connection = migrator.detach(wire) else { continue }
            session.depart()
            let home = context.home(of: hello.deviceIdentity)
            context.outbox.send(.device(.arrived(hello, connection: connection)), to: home)
        }
    }

    /// Continues the connection of a device whose home is this shard.
    func adopt(_ connection: UInt64, _ hello: Hello) {
        guard let session = (migrator.adopt(connection) as? HTTP2Handler)?.owner as? DeviceSession else {
            preconditionFailure("a device's connection carries a device's session")
        }
        session.arrive(at: self, number: context.drawNumber())
        greet(session, hello)
    }

    /// Verifies the secret and makes this the device's connection. The newest wins: an older one gets a goodbye.
    private func letIn(_ session: DeviceSession, _ hello: Hello) {
        let digest = SHA256.digest(hello.deviceSecret.span).bytes
        guard let entry = home.entries[hello.deviceIdentity],
            case let known = entry.device.record.secretDigest,
            constantTimeEquals(digest.span, known.span)
        else {
            context.deviceEnds.noteRefusedDevice(
                "a device", "unknown identity or wrong secret", from: session.peer)
            session.leave(.removed, "the device is not enrolled here, or its secret is wrong; enrol again")
            return
        }
        if let wait = linkEffects?.absenceLeft(of: hello.deviceIdentity, at: context.now) {
            session.leave(.overloaded, retryAfterMilliseconds: wait, "a rule keeps the device away")
            return
        }
        // Changes that an older connection has asked of the registry are not finished: the welcome has to tell their
        // result.
        guard entry.requests.isEmpty else { return entry.keepWaiting(session, hello) }
        if entry.pendingCount > 0, let wait = home.throttle.slot(now: context.scheduler.now) {
            session.leave(
                .overloaded, retryAfterMilliseconds: wait,
                "many devices have returned at once; come back then")
            return
        }
        if let older = entry.session,
            entry.judge(
                session.party(of: hello), beside: older.party, at: context.now, log: context.log)
                == .isTurnedAway
        {
            session.leave(
                .duplicated, retryAfterMilliseconds: Limits.duplicateRetryMilliseconds,
                "another machine, at \(older.party.address), uses the identity of this device")
            return
        }
        let older = home.replaceConnection(of: entry)
        let identity = hello.deviceIdentity
        let registrations = entry.device.registrations
            .filter { $0.value.unregisteredAt == nil }
            .map { self.registrations.registered($0.value.topic, as: $0.key, on: identity) }
        home.noteSeen(entry)
        home.settleIn(entry)
        session.welcome(entry, hello, registrations: registrations)
        entry.session = session
        entry.note(hello.reception)
        entry.promptness = AckLatency()
        home.noteConnected(entry, at: session.party.address, agent: hello.agent, insteadOf: older)
        home.with(entry) { device, now, tally, effects in
            device.connected(by: hello.reception, now: now, &tally, &effects)
        }
        context.log.info(
            "device \(identity) connected, \(entry.device.pendingCount) pending",
            fields: .init(connection: session.peer?.address, device: identity.description))
    }

    /// The link of a connection has ended. Notifications in flight are pending again.
    func left(_ session: DeviceSession) {
        edges.left(session)
        subscriptions.end(of: session)
        linkEffects?.forget(session)
        guard let entry = session.entry else { return }
        entry.forgetRequests(of: session)
        guard entry.session === session else { return }
        home.connectionEnded(of: entry, session.ending ?? .closed)
        let identity = entry.device.record.identity
        context.log.info(
            "device \(identity) left, \(entry.device.pendingCount) pending",
            fields: .init(connection: session.peer?.address, device: identity.description))
    }
}
