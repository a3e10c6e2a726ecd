import PostriderCourier
import PostriderEndpoints
import PostriderNotifications
import PostriderTransport

/// A question that goes to every shard, with what has come back so far.
struct ShardQuery {
    var missing: Int
    var replies: [Reply] = []
    let then: ([Reply]) -> Void
}

/// What the operator asks of a shard, and the shard's end.
extension Shard {
    /// Asks every shard and goes on when all have replied.
    func ask(_ question: Question, then: @escaping ([Reply]) -> Void) {
        let id = drawNumber()
        inquiries[id] = ShardQuery(missing: outbox.shardCount, then: then)
        outbox.sendToAll(.question(question, id: id, asker: index))
    }

    /// Replies to the shard that asks.
    func reply(to question: Question, _ id: UInt64, _ asker: Int) {
        let reply: Reply =
            switch question {
            case .tally: .tally(report)
            case .devices: .devices(entries.values.map(report))
            case .remove(let identity): .removed(remove(identity))
            }
        outbox.send(.reply(reply, id: id), to: asker)
    }

    /// Takes on one shard's reply.
    func collect(_ reply: Reply, _ id: UInt64) {
        guard var inquiry = inquiries.removeValue(forKey: id) else { return }
        inquiry.replies.append(reply)
        inquiry.missing -= 1
        if inquiry.missing == 0 {
            inquiry.then(inquiry.replies)
        } else {
            inquiries[id] = inquiry
        }
    }

    /// Raises the alarm, once, when not every accepted notification is accounted for.
    func watchBalance() {
        guard !hasRaisedAlarm else { return }
        let report = report
        guard !report.isBalanced else { return }
        hasRaisedAlarm = true
        log.error(
            "the counters of shard \(index) do not balance, which is a defect of the relay: "
                + "\(tally), and \(report.waiting) do wait; please report it")
    }

    var report: ShardReport {
        ShardReport(
            index: index,
            tally: tally,
            waiting: entries.values.reduce(0) { $0 + UInt64($1.pendingCount) },
            deferred: throttle.deferred,
            refused: listeners.reduce(0) { $0 + UInt64($1.refusedCount) },
            providerConnections: providers.count,
            deviceConnections: devices.count,
            devices: entries.count,
            channels: channels.desk.count,
            subscriptions: channels.audience.count,
            broadcasts: channels.tally
        )
    }

    private func report(on entry: DeviceEntry) -> DeviceReport {
        let identity = entry.device.record.identity
        return DeviceReport(
            record: entry.device.record,
            isConnected: entry.device.isConnected,
            pending: entry.pendingCount,
            duplicate: entry.duplicate,
            registrations: entry.device.registrations
                .filter { $0.value.unregisteredAt == nil }
                .map { ($0.value.topic, seal.seal(identity, $0.key), $0.key.environment) }
        )
    }

    private func remove(_ identity: DeviceIdentity) -> Bool {
        guard let entry = entries[identity] else { return false }
        entries[identity] = nil
        entry.session?.leave(.removed, "the device was removed by the operator")
        with(entry) { device, _, tally, effects in device.removed(&tally, &effects) }
        return true
    }

    // MARK: The end

    /// Takes on no more pushes, answers those that are open, says goodbye to devices, and tells when all is
    /// done.
    func drain() {
        guard !isDraining else { return }
        isDraining = true
        for listener in listeners { listener.close() }
        drainTimer = scheduler.makeTimer { [unowned self] in cutOff() }
        drainTimer?.arm(afterMilliseconds: Limits.drainMilliseconds)
        enrolmentRefusals.tellAll()
        for (_, provider) in providers { provider.drain() }
        for (_, device) in devices.sorted(by: { $0.key < $1.key }) { device.drain() }
        connectionEnded()
    }

    /// Whoever has not left when the drain's time is over is cut off.
    private func cutOff() {
        for provider in providers.values { provider.endpoint.wire?.abort(.localClose) }
        for device in Array(devices.values) { device.endpoint.wire?.abort(.localClose) }
    }

    /// A connection of this shard is gone; perhaps it was the last that a drain waited for.
    func connectionEnded() {
        guard isDraining, providers.isEmpty, devices.isEmpty else { return }
        onDrained?()
        onDrained = nil
    }
}

extension ShardReport {
    /// Whether the counters account for every notification, and what they say is pending is there.
    var isBalanced: Bool { tally.isBalanced && tally.pending == waiting }

    static func += (left: inout ShardReport, right: ShardReport) {
        left.tally += right.tally
        left.waiting += right.waiting
        left.deferred += right.deferred
        left.refused += right.refused
        left.providerConnections += right.providerConnections
        left.deviceConnections += right.deviceConnections
        left.devices += right.devices
        left.channels += right.channels
        left.subscriptions += right.subscriptions
        left.broadcasts += right.broadcasts
    }
}

extension Control.Status {
    init(_ reports: [ShardReport], trace: TraceLosses? = nil) {
        var report = ShardReport()
        for part in reports { report += part }
        self.init(
            shards: reports.count,
            providerConnections: report.providerConnections,
            deviceConnections: report.deviceConnections,
            devices: report.devices,
            channels: report.channels,
            subscriptions: report.subscriptions,
            broadcasts: Broadcasts(
                accepted: report.broadcasts.accepted,
                sent: report.broadcasts.sent,
                dropped: report.broadcasts.dropped
            ),
            deferredDevices: report.deferred,
            refusedConnections: report.refused,
            counters: Counters(report),
            countersOfShards: reports.sorted { $0.index < $1.index }.map(Counters.init),
            trace: trace.map { Trace(lost: $0.count, untoldRefusals: $0.refusals) }
        )
    }
}

extension Control.Status.Counters {
    init(_ report: ShardReport) {
        let tally = report.tally
        self.init(
            accepted: tally.accepted,
            delivered: tally.delivered,
            pending: tally.pending,
            expired: tally.expired,
            replaced: tally.replaced,
            discarded: tally.discarded,
            dropped: Dictionary(uniqueKeysWithValues: Tally.Drop.allCases.map { ("\($0)", tally[$0]) }),
            isBalanced: report.isBalanced
        )
    }
}

extension Control.Device {
    init(_ report: DeviceReport) {
        self.init(
            identity: report.record.identity.description,
            name: report.record.name,
            enrolledAt: report.record.enrolledAt.milliseconds,
            isConnected: report.isConnected,
            pending: report.pending,
            duplicates: report.duplicate?.addresses,
            duplicatedAt: report.duplicate?.at.milliseconds,
            registrations: report.registrations.map {
                Registration(topic: $0.topic.text, token: $0.token.hex, environment: $0.environment)
            }
        )
    }
}

extension Result where Success == Void {
    var isSuccess: Bool { failure == nil }

    var failure: Failure? {
        switch self {
        case .success: nil
        case .failure(let failure): failure
        }
    }
}
