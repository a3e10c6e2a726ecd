import PostriderCourier
import PostriderDeviceQueue
import PostriderNotifications
import PostriderProviderAPI

/// The requests of one shard's devices to the registry: tokens, and subscriptions to channels.
final class RegistrationRequests {
    private let context: ShardContext
    private let home: DeviceHome
    private let changes: RegistryChanges
    let subscriptions: ChannelSubscriptions
    /// Whether there is a port on which a token for the development environment can be used.
    private let hasDevelopment: Bool

    init(_ context: ShardContext, _ home: DeviceHome, _ changes: RegistryChanges, hasDevelopment: Bool) {
        self.context = context
        self.home = home
        self.changes = changes
        self.hasDevelopment = hasDevelopment
        subscriptions = ChannelSubscriptions(context)
    }

    /// A device asks for a token or gives up a topic. Requests are answered in order.
    func ask(_ request: DeviceEntry.Request, by session: DeviceSession) {
        guard let entry = session.currentEntry else { return }
        guard entry.requests.count < Limits.registrationsPerDevice * 2 else {
            session.leave(.overloaded, retryAfterMilliseconds: 5_000, "too many registrations at once")
            return
        }
        entry.requests.append((request, session))
        if entry.requests.count == 1 { workOffRequests(at: entry) }
    }

    /// Processes the requests of a device. Those that change nothing are answered at once; one that changes something
    /// goes to the ledger, and the others wait.
    private func workOffRequests(at entry: DeviceEntry) {
        while let (request, session) = entry.requests.first {
            let records = changes(askedFor: request, by: session, at: entry)
            guard records.isEmpty else { return put(records, at: entry) }
            entry.requests.removeFirst()
        }
    }

    /// The changes of the registry that a request needs; the last one answers it. Empty if it was answered here.
    private func changes(
        askedFor request: DeviceEntry.Request, by session: DeviceSession, at entry: DeviceEntry
    ) -> [RegistrationRecord] {
        switch request {
        case .register(let text, let environment):
            guard let topic = Topic(text), context.policy.team(of: topic) != nil else {
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
            let old = entry.device.registration(of: topic)
            if let old, old.environment == environment {
                session.say(.registered(registered(topic, as: old, on: entry.identity)))
                return []
            }
            guard entry.device.hasRoomForRegistration(inPlaceOf: old) else {
                session.say(.refused(Refused(topic: text, reason: "The device has too many registrations.")))
                return []
            }
            guard old != nil || context.quotas(of: topic)?.hasRoomForDevice() ?? true else {
                let reason = "The quota of the app or its team has no room for another device."
                session.say(.refused(Refused(topic: text, reason: reason)))
                return []
            }
            // An app has one environment at a time: its token of the other one becomes invalid.
            let ended = endedRegistration(of: topic, at: entry).map { [$0] } ?? []
            return ended + [newRegistration(of: topic, in: environment, at: entry)]
        case .unregister(let text):
            if let topic = Topic(text), let record = endedRegistration(of: topic, at: entry) {
                return [record]
            }
            session.say(.unregistered(topic: text))
            return []
        case .subscribe(let wish):
            subscriptions.subscribe(wish, by: session, at: entry)
            return []
        case .unsubscribe(let channel):
            subscriptions.end(of: session) { $0.channel == channel }
            session.refuse(channel, of: "", "")
            return []
        }
    }

    func registered(
        _ topic: Topic, as number: RegistrationNumber, on device: DeviceIdentity
    ) -> Registered {
        Registered(
            topic: topic.text, deviceToken: context.codec.seal(device, number),
            environment: number.environment)
    }

    private func newRegistration(
        of topic: Topic, in environment: Environment, at entry: DeviceEntry
    ) -> RegistrationRecord {
        RegistrationRecord(
            device: entry.identity,
            number: entry.device.nextRegistrationNumber(in: environment),
            topic: topic,
            registeredAt: context.now,
            unregisteredAt: nil
        )
    }

    private func endedRegistration(of topic: Topic, at entry: DeviceEntry) -> RegistrationRecord? {
        guard let number = entry.device.registration(of: topic),
            let registration = entry.device.registrations[number]
        else { return nil }
        return RegistrationRecord(
            device: entry.device.record.identity,
            number: number,
            topic: topic,
            registeredAt: registration.registeredAt,
            unregisteredAt: context.now
        )
    }

    /// Makes registrations, or their ends, durable together. Then they take effect, the device is told of the last, and
    /// its next request is processed.
    private func put(_ records: [RegistrationRecord], at entry: DeviceEntry) {
        changes.apply(entry.withCorrections(records, now: context.now).map { .putRegistration($0) }) {
            [unowned self] result in
            entry.noteChanged(records, isDurable: result.isSuccess)
            guard let (_, session) = entry.requests.first else {
                preconditionFailure("a request waits for its answer")
            }
            let isPresent = home.entries[entry.identity] === entry
            if result.isSuccess, isPresent, let answer = records.last {
                home.with(entry) { device, _, tally, effects in
                    for record in records { device.apply(record, &tally, &effects) }
                }
                if !context.quotas.areNone { home.charge(entry) }
                for record in records where record.unregisteredAt != nil {
                    subscriptions.end(of: session) { $0.topic == record.topic }
                }
                session.say(
                    answer.unregisteredAt == nil
                        ? .registered(registered(answer.topic, as: answer.number, on: entry.identity))
                        : .unregistered(topic: answer.topic.text))
            } else {
                session.leave(
                    .overloaded, retryAfterMilliseconds: 5_000, "registrations cannot be stored now")
            }
            entry.requests.removeFirst()
            workOffRequests(at: entry)
            if entry.requests.isEmpty, let (session, hello) = entry.takeArrival() {
                session.connections.greet(session, hello)
            }
        }
    }
}
