import PostriderCourier
import PostriderNotifications
import PostriderTransport

/// The devices whose home one shard is. It tells each device of its events and does what the device's effects say.
final class DeviceHome {
    let context: ShardContext
    var entries = DeviceTable()
    var tally = Tally()
    /// Which of the devices that return at once are let in.
    var throttle: ReconnectThrottle
    private let providers: any PushAnswering
    private let changes: RegistryChanges
    private let stores: StoreRequests
    private(set) var rules: DeviceRulesInForce
    /// Reused from one event to the next.
    private var effects: [Device.Effect] = []
    /// Devices of which the registry does not know yet that they were seen.
    private var sightings: [DeviceIdentity] = []
    /// Whether the log was told that the counters do not balance.
    var hasRaisedAlarm = false

    init(
        _ context: ShardContext, _ settings: ShardSettings, _ changes: RegistryChanges,
        providers: any PushAnswering
    ) {
        self.context = context
        self.providers = providers
        self.changes = changes
        throttle = settings.throttle
        stores = StoreRequests(context)
        rules = DeviceRulesInForce(settings.deviceRules, context.scheduler)
    }

    // MARK: Start-up

    /// Begins the work that time brings.
    func start() {
        rules.start(context.scheduler)
        stores.start()
    }

    /// Takes on what the store holds of the devices whose home this is.
    func restore(_ loaded: LoadedStore) {
        for record in loaded.registry.devices where context.home(of: record.identity) == context.index {
            entries[record.identity] = DeviceEntry(record)
        }
        for record in loaded.registry.registrations {
            entries[record.device]?.device.apply(record, &tally, &effects)
        }
        precondition(effects.isEmpty, "nothing is pending before it is restored")
        let strays = entries.distribute(loaded.entries[context.index]) { entry, entries in
            entry.keep(entries)
            tally.accepted += UInt64(entries.count)
            tally.pending += UInt64(entries.count)
        }
        // Their devices were removed, and the relay stopped before the queues were settled.
        for entry in strays { context.outbox.send(.settle(entry.row)) }
    }

    /// Something happens to a device: what was found on the disk for it becomes its queue.
    func settleIn(_ entry: DeviceEntry) {
        guard !entry.found.isEmpty else { return }
        let found = entry.takeFound()
        tally.accepted -= UInt64(found.count)
        tally.pending -= UInt64(found.count)
        for queued in found { entry.device.restore(queued, rules.configured, &tally, &effects) }
        perform(for: entry)
    }

    // MARK: A push's life

    /// Offers a push to its device.
    func offer(_ notification: Notification, _ address: ReplyAddress) {
        guard let entry = entries[notification.device] else {
            answer(address, .rejected(.badDeviceToken))
            return
        }
        settleIn(entry)
        let (row, now) = (context.rows.draw(), context.now)
        let rules = rules.present(context.scheduler)
        entry.device.offer(notification, at: row, for: address, now: now, rules, &tally, &effects)
        perform(for: entry)
    }

    /// The ledger has made these rows durable or, for the reason `failure`, has not.
    func stored(_ rows: [StoredRow], _ failure: Rejection?) {
        for stored in rows {
            guard let entry = entries[stored.device] else { continue }
            with(entry) { device, _, tally, effects in
                device.stored(stored.row, failure: failure, &tally, &effects)
            }
        }
    }

    /// The ledger has fetched notifications of a device, or has failed to.
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
            // The device is asked to come back; its return asks the ledger again.
            entry.session?.leave(
                .overloaded, retryAfterMilliseconds: 5_000, "stored notifications cannot be read now")
        }
    }

    /// A device has made deliveries safe.
    ///
    /// - Returns: the first number that is not under way, and then nothing has changed; nil if there is none.
    func acknowledged(_ deliveries: [UInt64], by entry: DeviceEntry) -> UInt64? {
        with(entry) { device, now, tally, effects in
            device.acknowledged(deliveries, now: now, &tally, &effects)
        }
    }

    /// The end of a turn: notifications whose acknowledgements are late go to the ledger.
    func storeOverdue() { stores.turnEnded { entries[$0]?.promptness.isPrompt = false } }

    /// Lets `change` happen to a device and does what follows from it.
    @discardableResult
    func with<Result>(
        _ entry: DeviceEntry, _ change: (inout Device, Moment, inout Tally, inout [Device.Effect]) -> Result
    ) -> Result {
        settleIn(entry)
        defer { perform(for: entry) }
        return change(&entry.device, context.now, &tally, &effects)
    }

    /// Does what a device's events ask for, in order.
    private func perform(for entry: DeviceEntry) {
        for effect in effects {
            switch effect {
            case .answer(let address, let result): answer(address, result)
            case .take(let queued, let delivery):
                if let delivery { send(queued, as: delivery, to: entry) }
                stores.store(queued, isSent: delivery != nil, &entry.promptness)
            case .send(let queued, let delivery): send(queued, as: delivery, to: entry)
            case .settle(let row): stores.settle(row, &entry.promptness)
            case .load(let rows):
                throttle.began(now: context.scheduler.now)
                context.outbox.send(.load(entry.identity, rows))
            case .noteAccepted(let queued): context.noteAccepted(queued)
            case .note(let kind, let row, let detail):
                context.trace.note(kind, row, detail: detail, at: context.now)
            }
        }
        effects.removeAll(keepingCapacity: true)
    }

    /// Answers a push wherever its provider is connected.
    private func answer(_ address: ReplyAddress, _ result: PushResult) {
        guard Int(address.shard) != context.index else { return providers.answer(address, result) }
        context.outbox.send(.push(.answer(address, result)), to: Int(address.shard))
    }

    /// Sends a notification over the device's connection, if there is one, and tells the trace.
    private func send(_ queued: QueuedNotification, as delivery: UInt64, to entry: DeviceEntry) {
        let isTraced = context.trace.traces(queued.row)
        let push = isTraced ? UInt64(queued.row.value) : 0
        guard let session = entry.session,
            session.deliver(queued.notification, as: delivery, reportedAs: push), isTraced
        else { return }
        entry.unreported.earn()
        let connection = TraceEvent.connection(session.number, ofShard: context.index)
        context.trace.note(.sent, queued.row, detail: connection, at: context.now)
    }

    /// A device reports what became of notifications: the trace is told, as far as the device was sent any.
    func reported(_ report: Report, by entry: DeviceEntry) {
        for event in report.events where entry.unreported.spend() {
            context.trace.note(event, by: entry.identity, at: context.now)
        }
    }

    // MARK: Time

    /// Gives up what has expired, unless the clock is in doubt, and sends groups whose time has come. True: the clock
    /// is in doubt.
    func sweep() -> Bool {
        let now = context.now
        let keepsExpired = rules.doubtsClock(context)
        // In an order that does not depend on hashes: the same seed has to be the same run.
        let due = entries.values.filter { keepsExpired ? $0.device.isGroupDue(at: now) : $0.isDue(at: now) }
            .sorted { ($0.identity.high, $0.identity.low) < ($1.identity.high, $1.identity.low) }
        for entry in due {
            with(entry) { device, now, tally, effects in
                if !keepsExpired { device.expire(now: now, &tally, &effects) }
                if device.isGroupDue(at: now) { device.fetch(now: now, &tally, &effects) }
            }
        }
        return keepsExpired
    }

    /// A device is there.
    func noteSeen(_ entry: DeviceEntry) {
        entry.noteSeen(context.now)
        if entry.device.noteSeen(now: context.now) { sightings.append(entry.identity) }
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
        let records = some.compactMap { entries[$0]?.device.record }
        changes.apply(records.map { .noteSeen($0.identity, $0.seenAt) }) { [unowned self] result in
            if !result.isSuccess { sightings.append(contentsOf: some) }
        }
    }

    // MARK: Enrolment and removal

    /// A device whose home this is has enrolled on some shard.
    func enrol(_ record: DeviceRecord, _ address: ReplyAddress) {
        changes.apply([.putDevice(record)]) { [unowned self] result in
            let isDurable = result.isSuccess
            if isDurable { entries[record.identity] = DeviceEntry(record) }
            let message = DeviceLifecycleMessage.enrolled(address, record.identity, isDurable: isDurable)
            context.outbox.send(.device(message), to: Int(address.shard))
        }
    }

    /// The operator removes a device. False: it is not here.
    func remove(_ identity: DeviceIdentity) -> Bool {
        guard let entry = entries[identity] else { return false }
        entries[identity] = nil
        entry.session?.leave(.removed, "the device was removed by the operator")
        with(entry) { device, _, tally, effects in device.removed(&tally, &effects) }
        return true
    }
}
