import PostriderCourier
import PostriderDeviceQueue
import PostriderNotifications
import PostriderTransport

/// The devices whose home is one shard. It passes events to each device and carries out the device's effects.
final class DeviceHome {
    let context: ShardContext
    var entries = DeviceTable()
    var tally = Tally()
    /// Decides which of many returning devices are let in.
    var throttle: ReconnectThrottle
    private let providers: any PushAnswering
    let changes: RegistryChanges
    let stores: StoreRequests
    private(set) var rules: DeviceRulesInForce
    /// Reused for each event.
    private var effects: [HomeEffect] = []
    /// Devices that were seen, which the registry has not been told yet.
    private var sightings: [DeviceIdentity] = []
    /// Whether it was logged that the counters do not balance.
    var hasRaisedAlarm = false
    /// The listeners for events of devices.
    let presence: PresenceExchange
    private(set) lazy var journal = PresenceJournal(
        context, changes, startedAt: presence.startedAt, find: { [unowned self] in entries[$0] })
    /// The agents' names and versions, which many devices have in common.
    var agents = SharedTexts(most: Limits.sharedAgentTexts)
    /// The events of this turn.
    var events: [Control.DeviceEvent] = []

    init(
        _ context: ShardContext, _ settings: ShardSettings, _ changes: RegistryChanges,
        providers: any PushAnswering
    ) {
        self.context = context
        self.providers = providers
        self.changes = changes
        presence = settings.presence
        throttle = settings.throttle
        stores = StoreRequests(context, changes)
        rules = DeviceRulesInForce(settings.deviceRules, context.scheduler)
    }

    /// Applies the settings of a reload. What waits for a device keeps its place in the queue.
    func apply(_ settings: ShardSettings) {
        rules.change(settings.deviceRules)
        throttle.change(places: settings.throttle.places)
        chargeAll()
    }

    // MARK: Start-up

    /// Starts the timers.
    func start() {
        rules.start(context.scheduler)
        stores.start()
        entries.paused.start(on: context.scheduler) { [unowned self] in goOn() }
    }

    /// Adds the devices from the store whose home is this shard: all at the start, or those of partitions that the node
    /// has taken.
    func restore(_ loaded: LoadedStore) {
        for record in loaded.registry.devices where context.home(of: record.identity) == context.index {
            entries[record.identity] = DeviceEntry(record)
        }
        for record in loaded.registry.registrations {
            entries[record.device]?.device.apply(record, &tally, &effects)
        }
        restorePresence(loaded.registry, ofNode: loaded.partitions != nil)
        precondition(effects.isEmpty, "nothing is pending for a device before it is restored")
        let strays = entries.distribute(loaded.entries[context.index]) { entry, entries in
            entry.keep(entries)
            tally.accepted += UInt64(entries.count)
            tally.pending += UInt64(entries.count)
        }
        if !context.quotas.areNone { chargeAll() }
        // Their devices were removed, and the relay stopped before their queues were.
        for entry in strays { context.outbox.send(.settle(entry.row)) }
    }

    /// Something happens to a device: builds its queue from the notifications that were on the disk.
    func settleIn(_ entry: DeviceEntry) {
        guard !entry.found.isEmpty else { return }
        let found = entry.takeFound()
        tally.accepted -= UInt64(found.count)
        tally.pending -= UInt64(found.count)
        if !context.quotas.areNone { entry.device.registrations.discharge(found) }
        for queued in found { entry.device.restore(queued, rules.configured, &tally, &effects) }
        perform(for: entry, at: context.now)
    }

    // MARK: A push's life

    /// Offers a push to its device, which this node serves.
    func accept(_ notification: Notification, _ address: ReplyAddress) {
        guard let entry = entries[notification.device] else { return refuse(address, .badDeviceToken) }
        offer(notification, at: context.rows.draw(), to: entry, address)
    }

    /// Offers a push to its device, at a row that was drawn just now.
    func offer(
        _ notification: Notification, at row: QueueRow, to entry: DeviceEntry, _ address: ReplyAddress
    ) {
        settleIn(entry)
        let now = context.now
        entry.session?.cutIfPlanned(with: notification)
        let rules = rules.present(context.scheduler)
        entry.device.offer(notification, at: row, for: address, now: now, rules, &tally, &effects)
        perform(for: entry, at: now)
    }

    /// The ledger has made these rows durable, or has not for the reason `failure`.
    func stored(_ rows: [StoredRow], _ failure: Rejection?) {
        for stored in rows {
            guard let entry = entries[stored.device] else { continue }
            with(entry) { device, _, tally, effects in
                device.stored(stored.row, failure: failure, &tally, &effects)
            }
        }
    }

    /// The ledger has read notifications of a device from the disk, or has failed to.
    func loaded(
        _ device: DeviceIdentity, _ asked: [QueueRow], _ result: Result<[QueuedNotification], StoreError>
    ) {
        throttle.ended(now: context.scheduler.now)
        guard let entry = entries[device] else { return }
        switch result {
        case .success(let found):
            with(entry) { device, now, tally, effects in
                device.loaded(asked, found, now: now, &tally, &effects)
            }
        case .failure:
            // The device is asked to reconnect; then the ledger is asked again.
            entry.session?.leave(
                .overloaded, retryAfterMilliseconds: 5_000, "stored notifications cannot be read now")
        }
    }

    /// A device has acknowledged deliveries.
    ///
    /// - Returns: nil, or the first number that is not under way. Then nothing has changed.
    func acknowledged(_ deliveries: [UInt64], by entry: DeviceEntry) -> UInt64? {
        with(entry) { device, now, tally, effects in
            device.acknowledged(deliveries, now: now, &tally, &effects)
        }
    }

    /// The end of a turn: notifications whose acknowledgements are late go to the ledger.
    func storeOverdue() { stores.turnEnded { entries[$0]?.promptness.isPrompt = false } }

    /// Applies `change` to a device and carries out its effects.
    @discardableResult
    func with<Result>(
        _ entry: DeviceEntry, _ change: (inout Device, Moment, inout Tally, inout [HomeEffect]) -> Result
    ) -> Result {
        settleIn(entry)
        if context.outbox.places != nil { pauseIfElsewhere(entry) }
        let now = context.now
        defer { perform(for: entry, at: now) }
        return change(&entry.device, now, &tally, &effects)
    }

    /// Carries out a device's effects, in order.
    private func perform(for entry: DeviceEntry, at now: Moment) {
        for effect in effects {
            switch effect {
            case .answer(let address, let result):
                if !stores.webAnswers.take(result, for: address) { answer(address, result) }
            case .take(let queued, let delivery):
                if let delivery { send(queued, as: delivery, to: entry, at: now) }
                stores.store(queued, isSent: delivery != nil, &entry.promptness)
            case .send(let queued, let delivery): send(queued, as: delivery, to: entry, at: now)
            case .settle(let row): stores.settle(row, &entry.promptness)
            case .load(let rows):
                throttle.began(now: context.scheduler.now)
                context.outbox.send(.load(entry.identity, rows))
            case .noteAccepted(let queued): context.noteAccepted(queued, at: now)
            case .note(let kind, let row, let detail):
                context.trace.note(kind, row, detail: detail, at: now)
                stores.receipts.note(kind, row, isKept: entry.device.backlog.keepsReplaced(row))
            }
        }
        effects.removeAll(keepingCapacity: true)
    }

    private func refuse(_ address: ReplyAddress, _ reason: Rejection) { answer(address, .rejected(reason)) }

    /// Answers a push on whichever shard its provider is connected.
    private func answer(_ address: ReplyAddress, _ result: PushResult) {
        guard Int(address.shard) != context.index else { return providers.answer(address, result) }
        context.outbox.send(.push(.answer(address, result)), to: Int(address.shard))
    }

    /// Sends a notification over the device's connection, if there is one, and records that in the trace.
    private func send(
        _ queued: QueuedNotification, as delivery: UInt64, to entry: DeviceEntry, at now: Moment
    ) {
        let isTraced = context.trace.traces(queued.row)
        let push = isTraced ? UInt64(queued.row.value) : 0
        if isTraced { context.trace.noteSending(queued) }
        guard let session = entry.session,
            session.deliver(queued.notification, as: delivery, reportedAs: push), isTraced
        else { return }
        entry.unreported.earn()
        let connection = TraceEvent.connection(session.number, ofShard: context.index)
        context.trace.note(.sent, queued.row, detail: connection, at: now)
    }

    // MARK: Time

    /// Removes expired notifications, unless the clock is in doubt, and sends groups that are due. Returns whether the
    /// clock is in doubt.
    func sweep() -> Bool {
        let now = context.now
        let keepsExpired = rules.doubtsClock(context)
        let due = entries.values.filter { keepsExpired ? $0.device.isGroupDue(at: now) : $0.isDue(at: now) }
        for entry in due.inOrder {
            with(entry) { device, now, tally, effects in
                if !keepsExpired { device.expire(now: now, &tally, &effects) }
                if device.isGroupDue(at: now) { device.fetch(now: now, &tally, &effects) }
            }
        }
        return keepsExpired
    }

    /// Notes that a device is connected.
    func noteSeen(_ entry: DeviceEntry) {
        if entry.device.noteSeen(now: context.now) { sightings.append(entry.identity) }
    }

    /// Writes to the registry which devices were seen, some at a time, because nobody waits for it.
    func saveSightings() {
        // Devices that stay connected count as seen every day.
        for entry in entries.values where entry.session != nil {
            guard sightings.count < Limits.sightingsAtOnce else { break }
            noteSeen(entry)
        }
        guard !sightings.isEmpty else { return }
        let some = Array(sightings.prefix(Limits.sightingsAtOnce))
        sightings.removeFirst(some.count)
        let records = some.compactMap { entries[$0]?.device.record }
        changes.apply(records.map { .noteSeen($0.identity, $0.seenAt) }) { [unowned self] result in
            if !result.isSuccess { sightings.append(contentsOf: some) }
        }
    }

    // MARK: Registrations

    /// Makes the registry have what a device has here, after changes were refused that may be there all the same.
    ///
    /// - Parameter then: is told whether that is durable.
    func correctRegistry(of entry: DeviceEntry, then: @escaping (_ isDone: Bool) -> Void) {
        let records = entry.corrections(now: context.now)
        changes.apply(records.map { .putRegistration($0) }) { [unowned self] result in
            if result.isSuccess { entry.noteCorrected() }
            if result.isSuccess, entries[entry.identity] === entry {
                // The number of a registration that has ended there is not used again.
                with(entry) { device, _, tally, effects in
                    for record in records { device.apply(record, &tally, &effects) }
                }
            }
            then(result.isSuccess)
        }
    }

    // MARK: Enrolment and removal

    /// A device whose home is this shard has enrolled on any shard.
    func enrol(_ record: DeviceRecord, _ tags: [DeviceTag], _ key: [UInt8], _ address: ReplyAddress) {
        let label = DeviceLabel(device: record.identity, tags: tags)
        // The store decides whether the key has a use left: other nodes of a cluster count there, too.
        let device = [RegistryChange.useEnrolmentKey(digest: key, by: record.identity), .putDevice(record)]
        changes.apply(device + (tags.isEmpty ? [] : [.putLabel(label)])) {
            [unowned self] result in
            let refusal = result.failure.map { context.refuseEnrolment(with: key, $0) }
            if refusal == nil, !context.isElsewhere(record.identity) {
                let entry = DeviceEntry(record)
                entries[record.identity] = entry
                context.outbox.send(.control(.enrolled(record, tags)), to: 0)
                tell(.enrolled, of: entry)
            }
            let message = DeviceLifecycleMessage.enrolled(address, record.identity, refusal)
            context.outbox.send(.device(message), to: Int(address.shard))
        }
    }

    /// Removes a device for the operator. Returns false if its home is another shard.
    func remove(_ identity: DeviceIdentity) -> Bool {
        guard let entry = entries[identity] else { return false }
        entries[identity] = nil
        entry.session?.leave(.removed, retryAfterMilliseconds: 0, "the device was removed by the operator")
        tell(.removed, of: entry)
        // Shard 0 knows the name that the device was given until it gets the answer to the removal.
        sendEvents()
        with(entry) { device, _, tally, effects in device.removed(&tally, &effects) }
        return true
    }
}
