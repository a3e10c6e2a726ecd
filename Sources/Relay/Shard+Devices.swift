import Courier
import Crypto
import Endpoints
import Notifications
import Transport

/// A device's connection on its way to its home, with the hello that it said.
struct DeviceArrival: Sendable {
    let crate: ConnectionPorter.Crate
    let hello: Hello
}

/// The home's part of a device's life: enrolment, hello, registrations, acknowledgements, leaving.
extension Shard {
    // MARK: Enrolment

    /// A device asks to be enrolled over a connection of this shard. Its home makes it durable.
    func enrol(_ request: EnrollRequest, secret: [UInt8], for session: DeviceSession, _ stream: Int32) {
        guard authority.admitsEnrolment(with: Array(request.enrolmentKey.utf8)) else {
            log.notice("an enrolment was refused: unknown key")
            session.enrolled(stream, .failure(.unknownKey))
            return
        }
        let record = DeviceRecord(
            identity: DeviceIdentity(high: random.next(), low: UInt32(truncatingIfNeeded: random.next())),
            secretDigest: SHA256.digest(secret.span).bytes,
            name: request.name,
            enrolledAt: now
        )
        let receipt = Receipt(shard: Int32(index), stream: stream, connection: session.number)
        switchboard.send(.enrol(record, receipt), to: home(of: record.identity))
    }

    /// A device whose home this is has enrolled somewhere.
    func enrol(_ record: DeviceRecord, _ receipt: Receipt) {
        apply([.putDevice(record)]) { [unowned self] result in
            let isDurable = result.isSuccess
            if isDurable { seats[record.identity] = DeviceSeat(record) }
            let letter = Letter.enrolled(receipt, record.identity, isDurable: isDurable)
            switchboard.send(letter, to: Int(receipt.shard))
        }
    }

    /// The answer for a device that enrolled over a connection of this shard.
    func enrolled(_ receipt: Receipt, _ identity: DeviceIdentity, isDurable: Bool) {
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
            switchboard.send(.adopt(DeviceArrival(crate: crate, hello: hello)), to: home)
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
        guard let seat = seats[hello.deviceIdentity], case let known = seat.device.record.secretDigest,
            constantTimeEquals(digest.span, known.span)
        else {
            log.notice("a device was refused: unknown identity or wrong secret")
            session.leave(.removed, "the device is not enrolled here, or its secret is wrong; enrol again")
            return
        }
        if let older = seat.session {
            seat.session = nil
            older.leave(.replaced, "the device has a newer connection")
        }
        let identity = hello.deviceIdentity
        let registrations = seat.device.registrations
            .filter { $0.value.unregisteredAt == nil }
            .sorted { $0.key < $1.key }
            .map { registered($0.value.topic, as: $0.key, on: identity) }
        noteSeen(seat)
        session.welcome(seat, hello, registrations: registrations)
        seat.session = session
        with(seat) { device, now, tally, effects in device.connected(now: now, &tally, &effects) }
        log.info("device \(identity) connected, \(seat.device.pendingCount) pending")
    }

    /// A connection's link is over. What was in flight is pending again.
    func left(_ session: DeviceSession) {
        endSubscriptions(of: session)
        guard let seat = session.seat else { return }
        seat.forgetRequests(of: session)
        guard seat.session === session else { return }
        seat.session = nil
        noteSeen(seat)
        with(seat) { device, _, tally, effects in device.disconnected(&tally, &effects) }
        log.info("device \(seat.device.record.identity) left, \(seat.device.pendingCount) pending")
    }

    // MARK: When devices were seen

    private func noteSeen(_ seat: DeviceSeat) {
        if seat.device.noteSeen(now: now) { sightings.append(seat.identity) }
    }

    /// Writes into the registry which devices were seen, some at a time: nobody waits for it.
    func saveSightings() {
        // Devices that stay connected are seen every day.
        for seat in seats.values where seat.session != nil {
            guard sightings.count < Limits.sightingsAtOnce else { break }
            noteSeen(seat)
        }
        guard !sightings.isEmpty else { return }
        let some = Array(sightings.prefix(Limits.sightingsAtOnce))
        sightings.removeFirst(some.count)
        let changes = some.compactMap { seats[$0]?.device.record }.map {
            RegistryChange.noteSeen($0.identity, $0.seenAt)
        }
        apply(changes) { [unowned self] result in
            if !result.isSuccess { sightings.append(contentsOf: some) }
        }
    }

    /// A device has made deliveries safe.
    func acknowledged(_ deliveries: [UInt64], by session: DeviceSession) {
        guard let seat = session.seat, seat.session === session else { return }
        with(seat) { device, now, tally, effects in
            device.acknowledged(deliveries, now: now, &tally, &effects)
        }
    }

    // MARK: Registrations

    /// A device asks for a token, or gives a topic up. Answers come in the order of the questions.
    func ask(_ request: DeviceSeat.Request, by session: DeviceSession) {
        guard let seat = session.seat, seat.session === session else { return }
        guard seat.requests.count < Limits.registrationsPerDevice * 2 else {
            session.leave(.overloaded, retryAfterMilliseconds: 5_000, "too many registrations at once")
            return
        }
        seat.requests.append((request, session))
        if seat.requests.count == 1 { workOffRequests(at: seat) }
    }

    /// Works off the requests of a device to the registry. Those that change nothing are answered at once, one
    /// that does goes to the ledger, and the others wait.
    private func workOffRequests(at seat: DeviceSeat) {
        while let (request, session) = seat.requests.first {
            let records = changes(askedFor: request, by: session, at: seat)
            guard records.isEmpty else { return put(records, at: seat) }
            seat.requests.removeFirst()
        }
    }

    /// The changes of the registry that a request needs, the one that answers it last; none: it is answered.
    private func changes(
        askedFor request: DeviceSeat.Request, by session: DeviceSession, at seat: DeviceSeat
    ) -> [RegistrationRecord] {
        switch request {
        case .register(let text, let environment):
            guard let topic = Topic(text), authority.team(of: topic) != nil else {
                session.say(.refused(Refused(topic: text, reason: "The topic is not known to this relay.")))
                return []
            }
            let old = seat.device.registration(of: topic)
            if let old, old.environment == environment {
                session.say(.registered(registered(topic, as: old, on: seat.identity)))
                return []
            }
            guard seat.device.hasRoomForRegistration(inPlaceOf: old) else {
                session.say(.refused(Refused(topic: text, reason: "The device has too many registrations.")))
                return []
            }
            // An app has one environment at a time: its token of the other one is dead from now on.
            let ended = endedRegistration(of: topic, at: seat).map { [$0] } ?? []
            return ended + [newRegistration(of: topic, in: environment, at: seat)]
        case .unregister(let text):
            if let topic = Topic(text), let record = endedRegistration(of: topic, at: seat) {
                return [record]
            }
            session.say(.unregistered(topic: text))
            return []
        case .subscribe(let wish):
            subscribe(wish, by: session, at: seat)
            return []
        case .unsubscribe(let channel):
            unsubscribe(channel, by: session)
            session.refuse(channel, "")
            return []
        }
    }

    private func registered(
        _ topic: Topic, as number: RegistrationNumber, on device: DeviceIdentity
    ) -> Registered {
        Registered(
            topic: topic.text, deviceToken: seal.seal(device, number), environment: number.environment)
    }

    private func newRegistration(
        of topic: Topic, in environment: Environment, at seat: DeviceSeat
    ) -> RegistrationRecord {
        RegistrationRecord(
            device: seat.identity,
            number: seat.device.nextRegistrationNumber(in: environment),
            topic: topic,
            registeredAt: now,
            unregisteredAt: nil
        )
    }

    private func endedRegistration(of topic: Topic, at seat: DeviceSeat) -> RegistrationRecord? {
        guard let number = seat.device.registration(of: topic),
            let registration = seat.device.registrations[number]
        else { return nil }
        return RegistrationRecord(
            device: seat.device.record.identity,
            number: number,
            topic: topic,
            registeredAt: registration.registeredAt,
            unregisteredAt: now
        )
    }

    /// Makes registrations, or their ends, durable together; then they are in force, the device is told of the
    /// last, and its next request is due.
    private func put(_ records: [RegistrationRecord], at seat: DeviceSeat) {
        apply(records.map { .putRegistration($0) }) { [unowned self] result in
            guard let (_, session) = seat.requests.first else {
                preconditionFailure("a request waits for its answer")
            }
            let isPresent = seats[seat.identity] === seat
            if result.isSuccess, isPresent, let answer = records.last {
                with(seat) { device, _, tally, effects in
                    for record in records { device.apply(record, &tally, &effects) }
                }
                for record in records where record.unregisteredAt != nil {
                    endSubscriptions(of: session, for: record.topic)
                }
                session.say(
                    answer.unregisteredAt == nil
                        ? .registered(registered(answer.topic, as: answer.number, on: seat.identity))
                        : .unregistered(topic: answer.topic.text))
            } else {
                session.leave(
                    .overloaded, retryAfterMilliseconds: 5_000, "registrations cannot be stored now")
            }
            seat.requests.removeFirst()
            workOffRequests(at: seat)
        }
    }

    /// Has the ledger change the registry, and goes on when that is durable or has failed.
    func apply(_ changes: [RegistryChange], then: @escaping (Result<Void, StoreError>) -> Void) {
        let ticket = drawNumber()
        applications[ticket] = then
        switchboard.send(.apply(changes, shard: index, ticket: ticket))
    }
}

extension Result where Success == Void {
    var isSuccess: Bool {
        switch self {
        case .success: true
        case .failure: false
        }
    }
}
