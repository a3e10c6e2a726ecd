public import PostriderNotifications

/// What a node does in the cluster's database to be a member: one object for each process, used by one thread, on a
/// connection of its own, so that heartbeats do not wait for the ledger's commits.
///
/// A call completes before it returns. If it throws ``StoreError/Kind/unreachable`` or
/// ``StoreError/Kind/inputOutput``, its outcome is unknown until the next call returns or throws: by then it has
/// happened, or it never will.
public protocol ClusterStore: AnyObject {
    /// By what the database knows the store of the node's ledger as that of its present membership.
    var claim: MemberClaim { get }

    /// Returns the cluster without changing it, whether or not the node is a member.
    func look() throws(StoreError) -> ClusterView

    /// Makes the node a member without partitions, with a new generation and heartbeat 0. It is to get none before a
    /// heartbeat says so. Returns false if the name is that of a member already, unless this object has joined with it.
    ///
    /// - Parameter dead: a member of the same name that has had its heartbeat for the whole of a lease. If it still has
    ///   it, it is removed first, as by ``ClusterChange/dead``.
    /// - Throws: ``StoreError`` of kind ``StoreError/Kind/conflict`` if there are ``Limits/nodes`` members.
    func join(replacing dead: ClusterNode?) throws(StoreError) -> Bool

    /// Records a heartbeat and returns the cluster.
    ///
    /// - Throws: ``StoreError`` of kind ``StoreError/Kind/fenced`` if the node is not a member any more, and
    ///   ``StoreError/Kind/conflict`` if the number is not above that of the last one.
    func beat(_ number: Int64, isDraining: Bool) throws(StoreError) -> ClusterView

    /// Makes a change, all or none. It is no error if a part has no effect because the cluster is not as expected.
    ///
    /// - Throws: ``StoreError`` of kind ``StoreError/Kind/fenced`` if the node is not a member any more.
    func change(_ change: ClusterChange) throws(StoreError)

    /// Ends the membership; the node's partitions become free. It is no error if the node is not a member.
    func leave() throws(StoreError)

    /// Closes the connection in order. No call may follow.
    func close()
}

/// What the store of a ledger shows to the cluster's database, so that the database knows it as that of one membership
/// of a node. The ledger's thread opens its store with it, while the node's ``ClusterStore`` stays with its own thread.
/// After the end of the membership it is worth nothing any more.
public struct MemberClaim: Hashable, Sendable {
    /// The name of the node.
    public let name: NodeName
    /// Tells this membership from all others of that name.
    public let holder: String

    /// Creates a claim from its parts.
    public init(name: NodeName, holder: String) {
        self.name = name
        self.holder = holder
    }
}

/// The store of a member's ledger. In addition to what every ``Store`` does, it compares each change with the
/// placement in the database, in the same transaction:
///
/// - A node that is not a member any more changes nothing (``StoreError/Kind/fenced``), for ever: a node that joins
///   again needs a new store. A transaction that has passed this check is complete before the node's partitions
///   become free.
/// - A batch that appends a notification of a partition which the node does not have fails whole, and so do changes of
///   the registry with such a device (``StoreError/Kind/misplaced``).
/// - Rows of such partitions are not removed, which is no error: they belong to their new owner.
///
/// ``Store/loadRegistry()`` returns what every node has (token secrets, keys, topics), and ``Store/scanQueue(_:)`` and
/// ``Store/loadReceipts()`` find nothing: devices, channels, notifications and receipts are loaded by partition. A
/// ``RegistryChange/noteRun(_:)`` changes nothing, because a node's run says nothing about other nodes' devices.
public protocol PartitionStore: Store {
    /// Reads partitions that the node has: devices, registrations, subscriptions, presences, labels, and channels with
    /// their broadcasts as the registry, and visits the entry of every stored notification in the order of rows.
    ///
    /// - Throws: ``StoreError`` of kind ``StoreError/Kind/misplaced`` if the node does not have all of them.
    func load(
        _ partitions: Set<Partition>, visit: (QueueEntry) -> Void
    ) throws(StoreError) -> Registry

    /// Returns the receipts of Web Push that partitions have which the node has (``Partition``), in
    /// the order of rows. A node that takes partitions over goes on with them.
    ///
    /// - Throws: ``StoreError`` of kind ``StoreError/Kind/misplaced`` if the node does not have all of the partitions.
    func loadReceipts(of partitions: Set<Partition>) throws(StoreError) -> [Receipt]
}
