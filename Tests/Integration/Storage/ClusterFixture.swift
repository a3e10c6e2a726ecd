import DatabaseFixtures
import PostriderCluster
import PostriderNotifications
import PostriderPostgres
import PostriderStorage
import Testing

/// The database of a cluster, of one of the two engines that have clusters.
final class ClusterFixture {
    private let cluster = MemoryCluster()
    /// The connection string; empty for the memory engine.
    let database: String

    init(_ engine: Engine) throws {
        database = engine == .postgres ? try DatabaseServer.shared.get().makeDatabase() : ""
    }

    /// The access of a process that has not joined yet and is reached at this address.
    func access(_ name: String, at address: String = "192.0.2.1:2195") throws -> any ClusterStore {
        let name = try #require(NodeName(name))
        guard !database.isEmpty else { return MemoryClusterStore(cluster, name: name, address: address) }
        return try PostgresClusterStore(
            place(), name: name, address: address, acceptsLosses: true, log: .none)
    }

    /// Where the database is; only for PostgreSQL.
    func place() throws -> DatabaseAddress { try #require(DatabaseAddress(database)) }

    /// The access of a node that has joined and has these partitions.
    func member(_ name: String, claiming claimed: [Int] = []) throws -> any ClusterStore {
        let store = try access(name)
        #expect(try store.join(replacing: nil))
        if !claimed.isEmpty { try store.claim(claimed) }
        return store
    }

    /// The store of a member's ledger.
    func ledger(of member: any ClusterStore) throws -> any PartitionStore {
        switch member {
        case let member as MemoryClusterStore: MemoryPartitionStore(of: member)
        case let member as PostgresClusterStore:
            try PostgresPartitionStore(place(), of: member.claim, acceptsLosses: true, log: .none)
        default: throw StoreError(.unusable, "a third engine")
        }
    }
}

extension ClusterStore {
    func claim(_ numbers: [Int]) throws {
        var change = ClusterChange()
        change.claimed = Set(numbers.map(Partition.init))
        try self.change(change)
    }

    func release(_ numbers: [Int]) throws {
        var change = ClusterChange()
        change.released = Set(numbers.map(Partition.init))
        try self.change(change)
    }

    func declareDead(_ node: ClusterNode?, claiming numbers: [Int] = []) throws {
        var change = ClusterChange()
        change.dead = node.map { [$0] } ?? []
        change.claimed = Set(numbers.map(Partition.init))
        try self.change(change)
    }

    /// A node as the database has it.
    func node(_ name: String) throws -> ClusterNode? { try look().nodes[try #require(NodeName(name))] }

    /// The numbers of a node's partitions, in order.
    func partitions(of name: String) throws -> [Int] {
        try look().placement.partitions(of: try #require(NodeName(name))).map(\.number).sorted()
    }
}

/// A device of this partition.
func device(in partition: Int, _ number: UInt64 = 0) -> DeviceIdentity {
    DeviceIdentity(high: 0x0102_0304_0506_0708 &+ number, low: 0xABCD_E000 & ~1023 | UInt32(partition))
}

/// A notification for a device of this partition.
func sample(_ row: Int64, in partition: Int) throws -> QueuedNotification {
    let usual = try sample(row).notification
    return QueuedNotification(
        row: QueueRow(row),
        notification: Notification(
            identity: usual.identity, device: device(in: partition), registration: usual.registration,
            topic: usual.topic, pushType: usual.pushType, priority: usual.priority,
            expiration: usual.expiration, collapseIdentifier: usual.collapseIdentifier,
            payload: usual.payload, acceptedAt: usual.acceptedAt))
}
