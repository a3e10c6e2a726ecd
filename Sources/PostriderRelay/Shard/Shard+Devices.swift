import PostriderCourier
import PostriderCrypto
import PostriderEndpoints
import PostriderNotifications
import PostriderTransport

/// A device's connection on its way to its home, with the hello that it said.
struct DeviceArrival: Sendable {
    let crate: ConnectionMigrator.Crate
    let hello: Hello
}

/// The home's part of a device's life: enrolment, hello, registrations, acknowledgements, leaving.
extension Shard {
    // MARK: Enrolment

    /// A device asks to be enrolled over a connection of this shard. Its home makes it durable.
    func enrol(_ request: EnrollRequest, secret: [UInt8], for session: DeviceSession, _ stream: Int32) {
        guard authority.admitsEnrolment(with: Array(request.enrolmentKey.utf8)) else {
            let peer = session.endpoint.peer
            deviceEnds.noteRefusedDevice("an enrolment", "unknown key", from: peer)
            return enrolmentRefusals.tell(peer?.source) { [weak session] in
                session?.enrolled(stream, .failure(.unknownKey))
            }
        }
        let record = DeviceRecord(
            identity: DeviceIdentity(high: random.next(), low: UInt32(truncatingIfNeeded: random.next())),
            secretDigest: SHA256.digest(secret.span).bytes,
            name: request.name,
            enrolledAt: now
        )
        let receipt = ReplyAddress(shard: Int32(index), stream: stream, connection: session.number)
        outbox.send(.enrol(record, receipt), to: home(of: record.identity))
    }

    /// A device whose home this is has enrolled somewhere.
    func enrol(_ record: DeviceRecord, _ receipt: ReplyAddress) {
        apply([.putDevice(record)]) { [unowned self] result in
            let isDurable = result.isSuccess
            if isDurable { entries[record.identity] = DeviceEntry(record) }
            let letter = ShardMessage.enrolled(receipt, record.identity, isDurable: isDurable)
            outbox.send(letter, to: Int(receipt.shard))
        }
    }

    /// The answer for a device that enrolled over a connection of this shard.
    func enrolled(_ receipt: ReplyAddress, _ identity: DeviceIdentity, isDurable: Bool) {
        devices[receipt.connection]?.enrolled(
            receipt.stream, isDurable ? .success(identity) : .failure(.notDurable))
    }

    // MARK: Hello

    /// A device has said hello on this shard: it is let in here, or moves home.
    func greet(_ session: DeviceSession, _ hello: Hello) {
        if isDraining {
            session.leave(.shutdown, retryAfterMilliseconds: 1_000, "the relay is shutting down")
        } else if home(of: hello.deviceIdentity) == index {
            letIn(session, hello)
        } else {
            departures.append((session, hello))
        }
    }

    /// Sends the connections that said hello this turn to their homes. Not earlier: the session that said it
    /// is still at work on what it received. And not while an enrolment over the connection waits for its answer,
    /// which is on its way to this shard.
    func sendDepartures() {
        guard !departures.isEmpty else { return }
        let due = departures.filter(\.session.awaitsWelcome)
        departures = due.filter(\.session.isEnrolling)
        for (session, hello) in due where !session.isEnrolling {
            guard let crate = porter.detach(session.endpoint) else { continue }
            session.depart()
            let home = home(of: hello.deviceIdentity)
            outbox.send(.adopt(DeviceArrival(crate: crate, hello: hello)), to: home)
        }
    }

    /// Continues the connection of a device whose home this is.
    func adopt(_ arrival: DeviceArrival) {
        guard let session = porter.adopt(arrival.crate) else {
            preconditionFailure("a device's connection carries a device's session")
        }
        session.arrive(at: self, number: drawNumber())
        greet(session, arrival.hello)
    }

    /// Verifies the secret and makes this the device's connection. The newest wins: an older one gets
    /// goodbye.
    private func letIn(_ session: DeviceSession, _ hello: Hello) {
        let digest = SHA256.digest(hello.deviceSecret.span).bytes
        guard let entry = entries[hello.deviceIdentity], case let known = entry.device.record.secretDigest,
            constantTimeEquals(digest.span, known.span)
        else {
            deviceEnds.noteRefusedDevice(
                "a device", "unknown identity or wrong secret", from: session.endpoint.peer)
            session.leave(.removed, "the device is not enrolled here, or its secret is wrong; enrol again")
            return
        }
        // What an older connection has asked of the registry is under way: the welcome tells how that ended.
        guard entry.requests.isEmpty else { return entry.keepWaiting(session, hello) }
        if entry.pendingCount > 0, let wait = throttle.slot(now: scheduler.now) {
            session.leave(
                .overloaded, retryAfterMilliseconds: wait,
                "many devices have returned at once; come back then")
            return
        }
        if let older = entry.session,
            entry.judge(session.party(of: hello), beside: older.party, at: now, log: log) == .isTurnedAway
        {
            session.leave(
                .duplicated, retryAfterMilliseconds: Limits.duplicateRetryMilliseconds,
                "another machine, at \(older.party.address), uses the identity of this device")
            return
        }
        if let older = entry.session {
            entry.session = nil
            older.leave(.replaced, "the device has a newer connection")
        }
        let identity = hello.deviceIdentity
        let registrations = entry.device.registrations
            .filter { $0.value.unregisteredAt == nil }
            .map { registered($0.value.topic, as: $0.key, on: identity) }
        noteSeen(entry)
        settleIn(entry)
        session.welcome(entry, hello, registrations: registrations)
        entry.session = session
        entry.promptness = AckLatency()
        with(entry) { device, now, tally, effects in
            device.connected(by: hello.reception, now: now, &tally, &effects)
        }
        log.info("device \(identity) connected, \(entry.device.pendingCount) pending")
    }

    /// A connection's link is over. What was in flight is pending again.
    func left(_ session: DeviceSession) {
        endSubscriptions(of: session)
        guard let entry = session.entry else { return }
        entry.forgetRequests(of: session)
        guard entry.session === session else { return }
        entry.session = nil
        noteSeen(entry)
        with(entry) { device, _, tally, effects in device.disconnected(&tally, &effects) }
        log.info("device \(entry.device.record.identity) left, \(entry.device.pendingCount) pending")
    }

    // MARK: When devices were seen

    private func noteSeen(_ entry: DeviceEntry) {
        if entry.device.noteSeen(now: now) { sightings.append(entry.identity) }
    }

    /// Writes into the registry which devices were seen, some at a time: nobody waits for it.
    func saveSightings() {
        // Devices that stay connected are seen every day.
        for entry in entries.values where entry.session != nil {
            guard sightings.count < Limits.sightingsAtOnce else { break }
            noteSeen(entry)
        }
        guard !sightings.isEmpty else { return }
        let some = Array(sightings.prefix(Limits.sightingsAtOnce))
        sightings.removeFirst(some.count)
        let changes = some.compactMap { entries[$0]?.device.record }.map {
            RegistryChange.noteSeen($0.identity, $0.seenAt)
        }
        apply(changes) { [unowned self] result in
            if !result.isSuccess { sightings.append(contentsOf: some) }
        }
    }

    /// A device has made deliveries safe.
    ///
    /// - Returns: the first number that is not under way, and then nothing has changed; nil if there is none.
    func acknowledged(_ deliveries: [UInt64], by session: DeviceSession) -> UInt64? {
        guard let entry = session.ownSeat else { return nil }
        return with(entry) { device, now, tally, effects in
            device.acknowledged(deliveries, now: now, &tally, &effects)
        }
    }

    /// A device says how it wants to be sent what waits for it.
    func receive(by reception: Reception, at session: DeviceSession) {
        guard let entry = session.ownSeat else { return }
        with(entry) { device, now, tally, effects in
            device.receive(by: reception, now: now, &tally, &effects)
        }
    }

    /// A device asks for what is held back.
    func fetch(by session: DeviceSession) {
        guard let entry = session.ownSeat else { return }
        with(entry) { device, now, tally, effects in device.fetch(now: now, &tally, &effects) }
    }
}
