import PostriderNotifications
import PostriderStorage

/// The statements of the queue's table.
enum QueueStatements {
    static let names = [insert, insertTraced, delete, select]

    private static let insert = Request(
        """
        INSERT INTO queue (number, device, registration, priority, expires_at, identity, collapse_identifier,
            topic, push_type, accepted_at, payload)
        SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bytea[],
            $7::text[], $8::text[], $9::text[], $10::bigint[], $11::bytea[])
        """, name: "insert")
    /// The same with trace contexts, for batches that have any.
    private static let insertTraced = Request(
        """
        INSERT INTO queue (number, device, registration, priority, expires_at, identity, collapse_identifier,
            topic, push_type, accepted_at, payload, trace_context)
        SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bytea[],
            $7::text[], $8::text[], $9::text[], $10::bigint[], $11::bytea[], $12::text[])
        """, name: "insert_traced")
    private static let delete = Request("DELETE FROM queue WHERE number = ANY($1::bigint[])", name: "delete")
    private static let select = Request(
        """
        SELECT number, device, registration, priority, expires_at, identity, collapse_identifier, topic,
            push_type, accepted_at, payload, trace_context
        FROM queue WHERE number = ANY($1::bigint[])
        """, name: "select")

    /// Returns the entries without their payloads, in any order.
    static let scan =
        """
        SELECT number, device, registration, priority, expires_at, identity, collapse_identifier, accepted_at
        FROM queue
        """

    /// The statements of a batch.
    static func changes(of batch: QueueBatch) -> [Request] {
        var requests: [Request] = []
        if !batch.settled.isEmpty { requests.append(with(delete, batch.settled)) }
        if !batch.enqueued.isEmpty { requests.append(append(batch.enqueued)) }
        return requests + batch.receipts.map(ReceiptStatements.of)
    }

    /// The statement that returns these rows, in any order.
    static func read(_ rows: [QueueRow]) -> Request { with(select, rows) }

    private static func with(_ request: Request, _ rows: [QueueRow]) -> Request {
        var request = request
        request.parameters.add(rows.lazy.map(\.value))
        return request
    }

    private static func append(_ enqueued: [QueuedNotification]) -> Request {
        let all = enqueued.map(\.notification)
        let isTraced = all.contains { $0.traceContext != nil }
        var request = isTraced ? insertTraced : insert
        request.parameters.add(enqueued.lazy.map(\.row.value))
        request.parameters.add(all.lazy.map(\.device.bytes))
        request.parameters.add(all.lazy.map { Int64($0.registration.value) })
        request.parameters.add(all.lazy.map { Int64($0.priority.rawValue) })
        request.parameters.add(
            all.lazy.map { notification in
                guard case .at(let expiresAt) = notification.expiration else {
                    preconditionFailure("a notification that is never stored has no row")
                }
                return expiresAt.milliseconds
            })
        request.parameters.add(all.lazy.map(\.identity.bytes))
        request.parameters.add(all.lazy.map(\.collapseIdentifier))
        request.parameters.add(all.lazy.map { Optional($0.topic.text) })
        request.parameters.add(all.lazy.map { $0.pushType?.rawValue })
        request.parameters.add(all.lazy.map(\.acceptedAt.milliseconds))
        request.parameters.add(all.lazy.map(\.payload))
        if isTraced { request.parameters.add(all.lazy.map { $0.traceContext?.text }) }
        return request
    }
}
