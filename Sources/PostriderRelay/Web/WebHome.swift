import PostriderCourier
import PostriderDeviceQueue
import PostriderNotifications
import PostriderTransport
import PostriderWebPush

/// Web Push at the home of a device: its subscriptions, and the receipts of messages to them.
final class WebHome {
    /// A browser's request to change its subscriptions.
    enum SubscriptionRequest {
        case register(channel: String, key: VAPIDKey?)
        case unregister(channel: String)
    }

    private let context: ShardContext
    private let home: DeviceHome
    private let changes: RegistryChanges
    private let routes: WebRoutes
    private(set) var subscriptions = WebSubscriptions()
    /// The receipts of the subscriptions whose home is this shard.
    let readers: ReceiptReaders
    /// The requests of browsers that have no answer yet; the ledger has the first of each.
    private var requests: [DeviceIdentity: [(request: SubscriptionRequest, session: WebDeviceSession)]] = [:]

    init(
        _ context: ShardContext, _ home: DeviceHome, _ changes: RegistryChanges, _ routes: WebRoutes
    ) {
        self.context = context
        self.home = home
        self.changes = changes
        self.routes = routes
        readers = ReceiptReaders(context, changes)
    }

    /// Adds the subscriptions and the receipts from the store whose home is this shard: all at the start, or those of
    /// partitions that the node has taken. The devices were added before.
    func restore(_ loaded: LoadedStore) {
        for subscription in loaded.registry.webSubscriptions
        where context.home(of: subscription.device) == context.index { subscriptions.put(subscription) }
        guard !loaded.receipts.isEmpty else { return }
        let rows = Set(loaded.entries[context.index].map(\.row))
        promises.restore(loaded.receipts.filter { context.home(of: $0.device) == context.index }) { receipt in
            rows.contains(receipt.row) && home.entries[receipt.device] != nil
        }
        readers.restore(
            loaded.receipts.filter { context.home(of: $0.subscription.identity) == context.index })
    }

    private var promises: ReceiptPromises { home.stores.receipts }

    /// Looks after receipts, some times a minute. While the clock is in doubt, none is removed.
    func sweep(isClockInDoubt: Bool) {
        promises.sweep()
        if !isClockInDoubt { readers.sweep() }
    }

    /// A device was removed.
    func forget(_ device: DeviceIdentity) { subscriptions.remove(device) }

    /// Other nodes have these devices and receipt subscriptions from now on.
    func forget(where isMoved: (DeviceIdentity) -> Bool) {
        subscriptions.remove(where: isMoved)
        promises.forget(where: isMoved)
        readers.forget(where: isMoved)
    }

    // MARK: Subscriptions

    /// A browser asks to change its subscriptions. Its requests are processed in order.
    func take(_ request: SubscriptionRequest, of session: WebDeviceSession) {
        guard let entry = session.currentEntry else { return }
        requests[entry.identity, default: []].append((request, session))
        if requests[entry.identity]?.count == 1 { processRequests(entry) }
    }

    /// Processes the requests of a browser, up to the first that changes the registry. All wait for the correction of
    /// what refused changes may have left.
    private func processRequests(_ entry: DeviceEntry) {
        while let (request, session) = requests[entry.identity]?.first {
            guard !entry.isInDoubt else { return correctRegistry(of: entry) }
            switch request {
            case .register(let channel, let key):
                if register(channel, key, for: session, at: entry) { return }
            case .unregister(let channel):
                if unregister(channel, for: session, at: entry) { return }
            }
            requests[entry.identity]?.removeFirst()
        }
        requests[entry.identity] = nil
    }

    /// The valid subscription of a channel.
    private func valid(_ channel: String, of entry: DeviceEntry) -> WebSubscriptions.Entry? {
        subscriptions.all(of: channel, on: entry.identity).last {
            entry.device.registrations[$0.number].map { $0.unregisteredAt == nil } ?? false
        }
    }

    /// Subscribes. Returns whether the ledger has to make that durable first.
    private func register(
        _ channel: String, _ key: VAPIDKey?, for session: WebDeviceSession, at entry: DeviceEntry
    ) -> Bool {
        if let known = valid(channel, of: entry) {
            if known.senderKey == key {
                session.registered(channel, at: routes.endpoint(of: entry.identity, known.number))
            } else {
                session.registrationFailed(channel, status: 409)
            }
            return false
        }
        guard entry.device.registrations.hasRoom(inPlaceOf: nil),
            context.quotas(of: WebPush.topic)?.hasRoomForDevice() ?? true
        else {
            session.registrationFailed(channel, status: 429)
            return false
        }
        let number = entry.device.registrations.nextNumber(in: .production)
        let record = RegistrationRecord(
            device: entry.identity, number: number, topic: WebPush.topic, registeredAt: context.now,
            unregisteredAt: nil)
        let subscription = WebSubscription(
            device: entry.identity, number: number, channel: channel, senderKey: key?.bytes)
        put(record, [.putWebSubscription(subscription)], at: entry) { [unowned self] isDone in
            guard isDone else { return refuse(.register(channel: channel, key: key), of: session) }
            subscriptions.put(subscription)
            session.registered(channel, at: routes.endpoint(of: entry.identity, number))
        }
        return true
    }

    /// Ends a subscription. Returns whether the ledger has to make that durable first.
    private func unregister(
        _ channel: String, for session: WebDeviceSession, at entry: DeviceEntry
    ) -> Bool {
        guard let known = valid(channel, of: entry),
            let registration = entry.device.registrations[known.number]
        else {
            session.unregistered(channel)
            return false
        }
        let record = RegistrationRecord(
            device: entry.identity, number: known.number, topic: WebPush.topic,
            registeredAt: registration.registeredAt, unregisteredAt: context.now)
        put(record, [], at: entry) { [unowned self] isDone in
            guard isDone else { return refuse(.unregister(channel: channel), of: session) }
            session.unregistered(channel)
        }
        return true
    }

    /// Makes a registration, or its end, durable. Then it takes effect, and the next request is processed.
    private func put(
        _ record: RegistrationRecord, _ more: [RegistryChange], at entry: DeviceEntry,
        then: @escaping (Bool) -> Void
    ) {
        changes.apply([.putRegistration(record)] + more) { [unowned self] result in
            if !result.isSuccess { entry.noteRefused([record]) }
            let isDone = result.isSuccess && home.entries[entry.identity] === entry
            if isDone {
                home.with(entry) { device, _, tally, effects in device.apply(record, &tally, &effects) }
                if !context.quotas.areNone { home.charge(entry) }
            }
            then(isDone)
            requests[entry.identity]?.removeFirst()
            processRequests(entry)
        }
    }

    /// Corrects the registry before the first request of a browser is answered.
    private func correctRegistry(of entry: DeviceEntry) {
        home.correctRegistry(of: entry) { [unowned self] isDone in
            if !isDone, let (request, session) = requests[entry.identity]?.first {
                refuse(request, of: session)
                requests[entry.identity]?.removeFirst()
            }
            processRequests(entry)
        }
    }

    /// The registry cannot be changed now. The protocol has no refusal of an unregister.
    private func refuse(_ request: SubscriptionRequest, of session: WebDeviceSession) {
        switch request {
        case .register(let channel, _): session.registrationFailed(channel, status: 503)
        case .unregister:
            session.leave(
                .overloaded, retryAfterMilliseconds: 5_000, "subscriptions cannot be stored now")
        }
    }
}

/// What agents need to register for Web Push.
extension WebHome: WebPushRegistry {
    var endpointPrefix: String { routes.endpointPrefix }

    func isSubscription(_ number: RegistrationNumber, of device: DeviceIdentity, for key: [UInt8]?) -> Bool {
        subscriptions[device, number].map { $0.senderKey?.bytes == key } ?? false
    }

    func add(_ subscription: WebSubscription) { subscriptions.put(subscription) }
}
