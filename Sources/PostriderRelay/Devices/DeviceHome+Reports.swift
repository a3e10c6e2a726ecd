import PostriderCourier
import PostriderDeviceQueue
import PostriderNotifications
import PostriderProviderAPI

/// What the operator and the log are told about the devices of one shard.
extension DeviceHome {
    /// A device reports what became of notifications: the trace gets as many reports as the device may send.
    func reported(_ report: Report, by entry: DeviceEntry) {
        for event in report.events where entry.unreported.spend() {
            context.trace.note(event, by: entry.identity, at: context.now)
        }
    }

    /// The counters and the other numbers about devices.
    var report: ShardReport {
        var report = ShardReport()
        report.index = context.index
        report.takenAt = context.now
        report.tally = tally
        report.census = entries.census(now: context.now)
        report.measures = context.measures
        report.measures.topics = context.topics.counts
        report.isDraining = context.isDraining
        report.doubtsClock = rules.hasDoubted
        report.deferred = throttle.deferred
        report.devices = entries.count
        return report
    }

    /// The devices that are asked for.
    func deviceReports(_ filter: DeviceFilter) -> [DeviceReport] {
        let now = context.now
        let some = filter.only.map { only in only.compactMap { entries[$0] } } ?? Array(entries.values)
        return some.compactMap { entry in
            guard filter.wants(entry.presence.value, now: now),
                filter.topic.map({ entry.device.registrations.number(of: $0) != nil }) ?? true
            else { return nil }
            return DeviceReport(
                record: entry.device.record,
                presence: entry.presence.value,
                savesPower: entry.device.link?.reception.savesPower,
                batteryPercent: entry.batteryPercent.map(Int.init),
                pending: entry.pendingCount,
                duplicate: entry.duplicate,
                registrations: entry.device.registrations
                    .filter { $0.value.unregisteredAt == nil }
                    .filter { filter.topic == nil || $0.value.topic == filter.topic }
                    .map {
                        DeviceReport.Registration(
                            topic: $0.value.topic, token: context.codec.seal(entry.identity, $0.key),
                            environment: $0.key.environment)
                    }
            )
        }
    }

    /// Logs, once, if the counters do not account for every accepted notification.
    func watchBalance() {
        guard !hasRaisedAlarm else { return }
        let report = report
        guard !report.isBalanced else { return }
        hasRaisedAlarm = true
        context.log.error(
            "the counters of shard \(context.index) do not balance, which is a defect of the relay: "
                + "\(tally), and \(report.census.waiting) do wait; please report it")
    }
}
