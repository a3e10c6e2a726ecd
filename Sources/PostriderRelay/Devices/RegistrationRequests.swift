import PostriderCourier
import PostriderDeviceQueue
import PostriderNotifications
import PostriderProviderAPI
import PostriderWebPush

/// The subscriptions of Web Push at a device's home, as an agent's requests need them.
protocol WebPushRegistry: AnyObject {
    /// What the addresses of subscriptions begin with; empty if there is no web port.
    var endpointPrefix: String { get }
    /// Whether a registration is a subscription for this key alone, or for everybody if there is no key.
    func isSubscription(_ number: RegistrationNumber, of device: DeviceIdentity, for key: [UInt8]?) -> Bool
    /// Adds a subscription that is durable.
    func add(_ subscription: WebSubscription)
}

/// The requests of one shard's devices to the registry: tokens, and subscriptions to channels.
final class RegistrationRequests {
    private let context: ShardContext
    private let home: DeviceHome
    private let changes: RegistryChanges
    let subscriptions: ChannelSubscriptions
    /// The registrations for Web Push; set before the first request.
    unowned var web: (any WebPushRegistry)?
    /// Whether there is a port on which a token for the development environment can be used.
    private let hasDevelopment: Bool

    init(_ context: ShardContext, _ home: DeviceHome, _ changes: RegistryChanges, hasDevelopment: Bool) {
        self.context = context
        self.home = home
        self.changes = changes
        self.hasDevelopment = hasDevelopment
        subscriptions = ChannelSubscriptions(context)
    }

    /// The changes of the registry that a request needs. The last record answers it.
    private struct Changes {
        var records: [RegistrationRecord] = []
        var subscription: WebSubscription?
    }

    /// A device asks for a token or gives up a topic. Requests are answered in order.
    func ask(_ request: DeviceEntry.Request, by session: DeviceSession) {
        guard let entry = session.currentEntry else { return }
        guard entry.requests.count < Limits.registrationsPerDevice * 2 else {
            session.leave(.overloaded, retryAfterMilliseconds: 5_000, "too many registrations at once")
            return
        }
        entry.requests.append((request, session))
        if entry.requests.count == 1 { processRequests(at: entry) }
    }

    /// Processes the requests of a device. Those that change nothing are answered at once; one that changes something
    /// goes to the ledger, and the others wait. All wait for the correction of what refused changes may have left.
    private func processRequests(at entry: DeviceEntry) {
        while let (request, session) = entry.requests.first {
            guard !entry.isInDoubt else { return correctRegistry(of: entry) }
            let changes = changes(askedFor: request, by: session, at: entry)
            guard changes.records.isEmpty else { return put(changes, at: entry) }
            entry.requests.removeFirst()
        }
    }

    /// The changes of the registry that a request needs. Empty if it was answered here.
    private func changes(
        askedFor request: DeviceEntry.Request, by session: DeviceSession, at entry: DeviceEntry
    ) -> Changes {
        switch request {
        case .register(let text, let environment):
            guard let topic = Topic(text), context.policy.team(of: topic) != nil else {
                session.say(.refused(Refused(topic: text, reason: "The topic is not known to this relay.")))
                return Changes()
            }
            guard environment == .production || hasDevelopment else {
                let reason =
                    "This relay serves no providers of the development environment: register for production, "
                    + "or have its operator set development-provider-address."
                session.say(.refused(Refused(topic: text, reason: reason)))
                return Changes()
            }
            let old = entry.device.registrations.number(of: topic)
            if let old, old.environment == environment {
                session.say(.registered(registered(topic, as: old, on: entry.identity)))
                return Changes()
            }
            guard entry.device.registrations.hasRoom(inPlaceOf: old) else {
                session.say(.refused(Refused(topic: text, reason: "The device has too many registrations.")))
                return Changes()
            }
            guard old != nil || context.quotas(of: topic)?.hasRoomForDevice() ?? true else {
                session.say(.refused(Refused(topic: text, reason: Self.quotaReason)))
                return Changes()
            }
            // An app has one environment at a time: its token of the other one becomes invalid.
            let ended = endedRegistration(of: topic, at: entry).map { [$0] } ?? []
            return Changes(records: ended + [newRegistration(of: topic, in: environment, at: entry)])
        case .registerWebPush(let request): return changes(askedFor: request, by: session, at: entry)
        case .unregister(let text):
            if let topic = Topic(text), let record = endedRegistration(of: topic, at: entry) {
                return Changes(records: [record])
            }
            session.say(.unregistered(topic: text))
            return Changes()
        case .subscribe(let request):
            subscriptions.subscribe(request, by: session, at: entry)
            return Changes()
        case .unsubscribe(let channel):
            subscriptions.end(of: session) { $0.channel == channel }
            session.refuse(channel, of: "", "")
            return Changes()
        }
    }

    /// The changes that a registration for Web Push needs. Empty if it was answered here.
    private func changes(
        askedFor request: RegisterWebPush, by session: DeviceSession, at entry: DeviceEntry
    ) -> Changes {
        func refuse(_ reason: String) -> Changes {
            session.say(.refused(Refused(topic: request.topic, reason: reason)))
            return Changes()
        }
        guard let web, !web.endpointPrefix.isEmpty else {
            return refuse("This relay takes no Web Push: its operator has to set web-address and public-url.")
        }
        guard let topic = Topic(request.topic), topic.isOfUnifiedPush else {
            return refuse("The topic of a Web Push registration begins with \(RegisterWebPush.topicPrefix)")
        }
        let key = request.senderKey.isEmpty ? nil : request.senderKey
        guard key == nil || VAPIDKey(bytes: request.senderKey) != nil else {
            return refuse("The VAPID key is no uncompressed point on the curve P-256.")
        }
        if let old = entry.device.registrations.number(of: topic) {
            guard web.isSubscription(old, of: entry.identity, for: key) else {
                return refuse("The topic is registered with another VAPID key.")
            }
            session.say(.registered(registered(topic, as: old, on: entry.identity)))
            return Changes()
        }
        guard entry.device.registrations.hasRoom(inPlaceOf: nil) else {
            return refuse("The device has too many registrations.")
        }
        guard context.quotas(of: topic)?.hasRoomForDevice() ?? true else { return refuse(Self.quotaReason) }
        let record = newRegistration(of: topic, in: .production, at: entry)
        return Changes(
            records: [record],
            subscription: WebSubscription(
                device: entry.identity, number: record.number, channel: request.topic, senderKey: key))
    }

    private static let quotaReason = "The quota of the app or its team has no room for another device."

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
            number: entry.device.registrations.nextNumber(in: environment),
            topic: topic,
            registeredAt: context.now,
            unregisteredAt: nil
        )
    }

    private func endedRegistration(of topic: Topic, at entry: DeviceEntry) -> RegistrationRecord? {
        guard let number = entry.device.registrations.number(of: topic),
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
    private func put(_ change: Changes, at entry: DeviceEntry) {
        let records = change.records
        let more = change.subscription.map { [RegistryChange.putWebSubscription($0)] } ?? []
        changes.apply(records.map { .putRegistration($0) } + more) { [unowned self] result in
            if !result.isSuccess { entry.noteRefused(records) }
            guard let (_, session) = entry.requests.first else {
                preconditionFailure("a request waits for its answer")
            }
            let isPresent = home.entries[entry.identity] === entry
            if result.isSuccess, isPresent, let answer = records.last {
                home.with(entry) { device, _, tally, effects in
                    for record in records { device.apply(record, &tally, &effects) }
                }
                if !context.quotas.areNone { home.charge(entry) }
                if let subscription = change.subscription { web?.add(subscription) }
                for record in records where record.unregisteredAt != nil {
                    subscriptions.end(of: session) { $0.topic == record.topic }
                }
                session.say(
                    answer.unregisteredAt == nil
                        ? .registered(registered(answer.topic, as: answer.number, on: entry.identity))
                        : .unregistered(topic: answer.topic.text))
            } else {
                refuse(session)
            }
            entry.requests.removeFirst()
            proceed(at: entry)
        }
    }

    /// Corrects the registry before the first request of a device is answered.
    private func correctRegistry(of entry: DeviceEntry) {
        home.correctRegistry(of: entry) { [unowned self] isDone in
            if !isDone, let (_, session) = entry.requests.first {
                refuse(session)
                entry.requests.removeFirst()
            }
            proceed(at: entry)
        }
    }

    private func refuse(_ session: DeviceSession) {
        session.leave(.overloaded, retryAfterMilliseconds: 5_000, "registrations cannot be stored now")
    }

    /// The ledger has answered: processes what has waited for that.
    private func proceed(at entry: DeviceEntry) {
        processRequests(at: entry)
        if entry.requests.isEmpty, let (session, hello) = entry.takeArrival() {
            session.connections.greet(session, hello)
        }
    }
}
