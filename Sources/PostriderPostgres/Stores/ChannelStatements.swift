import PostriderNotifications

/// The statements that change the tables of channels and stored broadcasts.
enum ChannelStatements {
    static func put(_ record: ChannelRecord) -> Request {
        Request(
            """
            INSERT INTO channel (identity, topic, environment, storage, created_at)
            VALUES ($1, $2, $3, $4, $5)
            ON CONFLICT (identity) DO UPDATE SET topic = excluded.topic, environment = excluded.environment,
                storage = excluded.storage, created_at = excluded.created_at
            """
        ) {
            $0.add(record.identity.bytes)
            $0.add(record.owner.topic.text)
            $0.add(record.owner.environment.rawValue)
            $0.add(Int64(record.storage.rawValue))
            $0.add(record.createdAt.milliseconds)
        }
    }

    static func put(_ broadcast: Broadcast) -> Request {
        guard case .at(let moment) = broadcast.expiration else {
            preconditionFailure("a broadcast that is now or never is not kept")
        }
        return Request(
            """
            INSERT INTO broadcast (channel, identity, topic, payload, priority, expires_at, push_type,
                accepted_at)
            SELECT $1, $2, $3, $4, $5, $6, $7, $8 WHERE EXISTS (SELECT 1 FROM channel WHERE identity = $1)
            ON CONFLICT (channel) DO UPDATE SET identity = excluded.identity, topic = excluded.topic,
                payload = excluded.payload, priority = excluded.priority, expires_at = excluded.expires_at,
                push_type = excluded.push_type, accepted_at = excluded.accepted_at
            """
        ) {
            $0.add(broadcast.channel.bytes)
            $0.add(broadcast.identity.bytes)
            $0.add(broadcast.topic.text)
            $0.add(broadcast.payload)
            $0.add(Int64(broadcast.priority.rawValue))
            $0.add(moment.milliseconds)
            $0.add(broadcast.pushType.rawValue)
            $0.add(broadcast.acceptedAt.milliseconds)
        }
    }
}
