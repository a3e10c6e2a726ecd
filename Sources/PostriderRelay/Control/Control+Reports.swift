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
