import PostriderNotifications

/// The statements of the table for receipts of Web Push.
enum ReceiptStatements {
    /// Returns receipts, in any order.
    static let load = "SELECT \(columns) FROM receipt"

    /// The identity whose partition has a receipt.
    static let placed = "(CASE WHEN outcome IS NULL THEN device ELSE subscription END)"

    private static let columns = "number, device, registration, subscription, expires_at, outcome"
    private static let replacing = """
        ON CONFLICT (number) DO UPDATE SET device = excluded.device, registration = excluded.registration,
            subscription = excluded.subscription, expires_at = excluded.expires_at, outcome = excluded.outcome
        """

    /// The statement of a change.
    static func of(_ change: ReceiptChange) -> Request {
        switch change {
        case .put(let receipt):
            Request("INSERT INTO receipt (\(columns)) VALUES ($1, $2, $3, $4, $5, $6) \(replacing)") {
                $0.add(receipt)
            }
        case .remove(let row): Request("DELETE FROM receipt WHERE number = $1") { $0.add(row.value) }
        }
    }

    private static let putOwn = Request(
        """
        INSERT INTO receipt (\(columns))
        SELECT $1::bigint, $2::bytea, $3::bigint, $4::bytea, $5::bigint, $6::bigint
        WHERE \(PartitionChecks.has("$7", "$2::bytea"))
        \(replacing)
        """, name: "putOwnReceipt")
    private static let removeOwn = Request(
        "DELETE FROM receipt WHERE number = $1::bigint AND \(PartitionChecks.has("$2", placed))",
        name: "removeOwnReceipt")

    /// The statements of a node that a connection prepares.
    static let names = [putOwn, removeOwn]

    /// The statement of a change by a node of a cluster. It changes nothing if another node has the receipt by now: the
    /// promise of a message with its device, and a receipt that a sender can read with its subscription.
    static func of(_ change: ReceiptChange, by node: String) -> Request {
        switch change {
        case .put(let receipt):
            putOwn.filled { parameters in
                parameters.add(receipt)
                parameters.add(node)
            }
        case .remove(let row):
            removeOwn.filled { parameters in
                parameters.add(row.value)
                parameters.add(node)
            }
        }
    }
}

extension Parameters {
    fileprivate mutating func add(_ receipt: Receipt) {
        add(receipt.row.value)
        add(receipt.device.bytes)
        add(Int64(receipt.registration.value))
        add(receipt.subscription.identity.bytes)
        add(receipt.expiresAt.milliseconds)
        add(receipt.outcome?.rawValue)
    }
}
