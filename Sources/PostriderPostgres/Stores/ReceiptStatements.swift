import PostriderNotifications

/// The statements of the table for receipts of Web Push.
enum ReceiptStatements {
    /// Returns receipts, in any order.
    static let load = "SELECT number, device, registration, subscription, expires_at, outcome FROM receipt"

    /// The identity whose partition has a receipt.
    static let placed = "(CASE WHEN outcome IS NULL THEN device ELSE subscription END)"

    /// The statement of a change.
    static func of(_ change: ReceiptChange) -> Request {
        switch change {
        case .put(let receipt):
            Request(
                """
                INSERT INTO receipt (number, device, registration, subscription, expires_at, outcome)
                VALUES ($1, $2, $3, $4, $5, $6)
                ON CONFLICT (number) DO UPDATE SET device = excluded.device,
                    registration = excluded.registration, subscription = excluded.subscription,
                    expires_at = excluded.expires_at, outcome = excluded.outcome
                """
            ) { parameters in
                parameters.add(receipt.row.value)
                parameters.add(receipt.device.bytes)
                parameters.add(Int64(receipt.registration.value))
                parameters.add(receipt.subscription.identity.bytes)
                parameters.add(receipt.expiresAt.milliseconds)
                parameters.add(receipt.outcome?.rawValue)
            }
        case .remove(let row): Request("DELETE FROM receipt WHERE number = $1") { $0.add(row.value) }
        }
    }
}
