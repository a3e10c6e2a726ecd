import PostriderCourier
import PostriderNotifications

/// What devices ask of the registry.
extension Shard {
    /// A device asks for a token, or gives a topic up. Answers come in the order of the questions.
    func ask(_ request: DeviceSeat.Request, by session: DeviceSession) {
        guard let seat = session.ownSeat else { return }
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
            guard environment == .production || hasDevelopment else {
                let reason =
                    "This relay serves no providers of the development environment: register for production, "
                    + "or have its operator set development-provider-address."
                session.say(.refused(Refused(topic: text, reason: reason)))
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
            session.refuse(channel, of: "", "")
            return []
        }
    }

    func registered(
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
        apply(seat.withCorrections(records, now: now).map { .putRegistration($0) }) { [unowned self] result in
            seat.noteChanged(records, isDurable: result.isSuccess)
            guard let (_, session) = seat.requests.first else {
                preconditionFailure("a request waits for its answer")
            }
            let isPresent = seats[seat.identity] === seat
            if result.isSuccess, isPresent, let answer = records.last {
                with(seat) { device, _, tally, effects in
                    for record in records { device.apply(record, &tally, &effects) }
                }
                for record in records where record.unregisteredAt != nil {
                    endSubscriptions(of: session) { $0.topic == record.topic }
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
            if seat.requests.isEmpty, let (session, hello) = seat.takeArrival() { greet(session, hello) }
        }
    }

    /// Has the ledger change the registry, and goes on when that is durable or has failed.
    func apply(_ changes: [RegistryChange], then: @escaping (Result<Void, StoreError>) -> Void) {
        let ticket = drawNumber()
        applications[ticket] = then
        switchboard.send(.apply(changes, shard: index, ticket: ticket))
    }
}
