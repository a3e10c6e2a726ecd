import PostriderDeviceQueue
import PostriderNotifications

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
            moved: tally.moved == 0 ? nil : tally.moved,
            dropped: Dictionary(uniqueKeysWithValues: Tally.Drop.allCases.map { ("\($0)", tally[$0]) }),
            isBalanced: report.isBalanced
        )
    }
}

extension Control.Device {
    /// A device as its shard reports it, with what the directory knows of it.
    init(_ report: DeviceReport, _ entry: DirectoryEntry?, successor: DeviceIdentity? = nil) {
        let name = entry?.name.text ?? report.record.name
        self.init(
            identity: report.record.identity.description,
            name: name,
            callsItself: name == report.record.name ? nil : report.record.name,
            tags: entry?.label.tags.map(\.text) ?? [],
            successor: successor?.description,
            enrolledAt: report.record.enrolledAt.milliseconds,
            isConnected: report.presence.isConnected,
            since: report.presence.since.milliseconds,
            address: report.presence.address.isEmpty ? nil : report.presence.address,
            agent: report.presence.agent.isEmpty ? nil : report.presence.agent,
            ending: report.presence.ending?.rawValue,
            savesPower: report.savesPower,
            batteryPercent: report.batteryPercent,
            pending: report.pending,
            duplicates: report.duplicate?.addresses,
            duplicatedAt: report.duplicate?.at.milliseconds,
            registrations: report.registrations.map {
                Registration(topic: $0.topic.text, token: $0.token.hex, environment: $0.environment)
            }
        )
    }
}
