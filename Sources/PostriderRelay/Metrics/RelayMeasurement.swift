import PostriderCluster
public import PostriderMetrics
import PostriderNotifications
import PostriderTransport
import Synchronization

/// The state of a relay at one moment. All numbers of a shard are of the same moment, so that every accepted
/// notification is accounted for.
public struct RelayMeasurement: Sendable {
    /// The metric families for Prometheus.
    public let families: [MetricFamily]
    /// Why the relay should not get pushes now, each a phrase; empty if it is ready.
    public let obstacles: [String]
}

extension Relay {
    /// Asks every shard for its numbers. A shard that hangs never answers.
    ///
    /// - Parameter respond: called once, on the thread of the shard that answers last.
    public func measure(_ respond: @escaping @Sendable (RelayMeasurement) -> Void) {
        let mailboxes = parts.mailboxes
        let number = mailboxes.measurements.begin(shards: mailboxes.shards.count) { [self] reports in
            respond(measurement(reports))
        }
        mailboxes.postToAllShards(.control(.measure(number: number)))
    }

    private func measurement(_ reports: [ShardReport]) -> RelayMeasurement {
        var sum = ShardReport()
        for report in reports { sum += report }
        let ledger = parts.ledgerMeasures.report
        let failure = ledger.presentFailure(at: EventLoop.monotonicNanoseconds)
        var obstacles: [String] = []
        if sum.isDraining { obstacles.append("draining: the relay is shutting down") }
        if let failure { obstacles.append("store failing: \(failure)") }
        if sum.doubtsClock {
            obstacles.append("clock in doubt: it was put forward by more than an hour within the last one")
        }
        if let node = parts.mailboxes.node, !node.serving.includes(EventLoop.monotonicNanoseconds) {
            obstacles.append("node suspended: the database does not answer its heartbeats")
        }
        if let awaited = parts.mailboxes.node?.reports.current.awaited, !awaited.isEmpty {
            let names = awaited.map(\.description).joined(separator: ", ")
            obstacles.append("node without devices: it has no links to and from \(names) yet")
        }
        let families =
            sum.pushFamilies + sum.notificationFamilies(shards: reports) + sum.connectionFamilies
            + sum.deviceFamilies + ledger.families(isFailing: failure != nil) + parts.families
        return RelayMeasurement(families: families, obstacles: obstacles)
    }
}

/// The measurements that wait for reports of shards. The messages about a measurement are plain values that contain its
/// number.
final class RelayMeasurements: Sendable {
    /// One measurement.
    private struct Collection {
        var missing: Int
        var reports: [ShardReport] = []
        let then: @Sendable ([ShardReport]) -> Void
    }

    private let collections = Mutex<(last: UInt64, waiting: [UInt64: Collection])>((0, [:]))

    /// Begins a measurement of this many shards. `then` is called with all reports, on the thread of the shard that
    /// reports last.
    ///
    /// - Returns: the number of the measurement.
    func begin(shards count: Int, then: @escaping @Sendable ([ShardReport]) -> Void) -> UInt64 {
        collections.withLock { collections in
            collections.last += 1
            collections.waiting[collections.last] = Collection(missing: count, then: then)
            return collections.last
        }
    }

    /// Adds one shard's report; the last one ends the measurement.
    func add(_ report: ShardReport, for number: UInt64) {
        let complete = collections.withLock { collections -> Collection? in
            collections.waiting[number]?.reports.append(report)
            collections.waiting[number]?.missing -= 1
            guard collections.waiting[number]?.missing == 0 else { return nil }
            return collections.waiting.removeValue(forKey: number)
        }
        if let complete { complete.then(complete.reports.sorted { $0.index < $1.index }) }
    }
}
