import PostriderCluster
import PostriderNotifications
import PostriderStorage

/// What the store of a member's ledger adds to its transactions: comparisons with the placement. They follow the fence,
/// which holds the node's row, so the node's partitions stay its own until the transaction ends.
struct PartitionChecks {
    /// The name of the node.
    let node: String

    private static let owns = Request(
        """
        SELECT 1 / (CASE WHEN count(*) = $3::bigint THEN 1 ELSE 0 END) FROM placement
        WHERE node = $1::text AND number = ANY($2::bigint[])
        """, name: "owns")
    private static let delete = Request(
        """
        DELETE FROM queue WHERE number = ANY($2::bigint[]) AND \(has("$1", "queue.device"))
        """, name: "deleteOwn")

    /// The condition that the node of a parameter has the partition of an identity.
    static func has(_ node: String, _ identity: String) -> String {
        "EXISTS (SELECT 1 FROM placement "
            + "WHERE placement.number = \(PostgresSchema.partition(of: identity)) AND node = \(node)::text)"
    }

    static let names = [owns, delete] + ReceiptStatements.names

    /// What every node has is another one then.
    static let newVersion = Request("UPDATE registry_version SET version = version + 1")

    /// Divides by zero if the node does not have all of these partitions.
    func owns(_ partitions: Set<Partition>) -> Request {
        var request = Self.owns
        request.parameters.add(node)
        request.parameters.add(partitions.map { Int64($0.number) })
        request.parameters.add(Int64(partitions.count))
        return request
    }

    /// The statements of a batch.
    func changes(of batch: QueueBatch) -> [Request] {
        var requests: [Request] = []
        if !batch.enqueued.isEmpty {
            requests.append(owns(Set(batch.enqueued.map { Partition(of: $0.notification.device) })))
        }
        if !batch.settled.isEmpty {
            var request = Self.delete
            request.parameters.add(node)
            request.parameters.add(batch.settled.lazy.map(\.value))
            requests.append(request)
        }
        var rest = batch
        (rest.settled, rest.receipts) = ([], [])
        return requests + QueueStatements.changes(of: rest)
            + batch.receipts.map { ReceiptStatements.of($0, by: node) }
    }

    /// The statements of changes to the registry.
    func changes(of changes: [RegistryChange]) -> [Request] {
        let partitions = Set(changes.compactMap(\.device).map(Partition.init(of:)))
        let isShared = changes.contains { $0.scope == .shared }
        let effective = changes.filter { $0.scope != .run }
        return (partitions.isEmpty ? [] : [owns(partitions)]) + (isShared ? [Self.newVersion] : [])
            + effective.flatMap(RegistryStatements.of)
    }

    /// Whether a transaction has failed at the comparison.
    static func isMisplaced(_ failure: PostgresFailure) -> Bool {
        failure.statement == 1 && failure.state == "22012"
    }

    /// The error for that.
    var misplacement: StoreError {
        StoreError(
            .misplaced,
            "The node '\(node)' does not have the partition of a device that it wanted to change: it stores "
                + "nothing of it.")
    }
}
