import PostriderNotifications

/// The statements that change the registry's tables. Each change has the same effect when it is made twice.
enum RegistryStatements {
    /// Those of devices, of which there are many: the database parses them once for each connection.
    static let names = [putDevice, noteSeen, putLabel, putRegistration, PresenceStatements.putPresence]

    private static let putDevice = Request(
        """
        INSERT INTO device (identity, secret_digest, name, enrolled_at, seen_at)
        VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (identity) DO UPDATE SET secret_digest = excluded.secret_digest, name = excluded.name,
            enrolled_at = excluded.enrolled_at, seen_at = excluded.seen_at
        """, name: "put_device")
    private static let noteSeen = Request(
        "UPDATE device SET seen_at = $1 WHERE identity = $2", name: "note_seen")
    private static let putLabel = Request(
        """
        INSERT INTO label (device, name, is_given, tags) SELECT $1::bytea, $2::text, $3::bigint, $4::text
        WHERE EXISTS (SELECT 1 FROM device WHERE identity = $1)
        ON CONFLICT (device) DO UPDATE SET name = excluded.name, is_given = excluded.is_given,
            tags = excluded.tags
        """, name: "put_label")
    private static let putRegistration = Request(
        """
        INSERT INTO registration (device, number, topic, registered_at, unregistered_at)
        SELECT $1::bytea, $2::bigint, $3::text, $4::bigint, $5::bigint
        WHERE EXISTS (SELECT 1 FROM device WHERE identity = $1)
        ON CONFLICT (device, number) DO UPDATE SET topic = excluded.topic,
            registered_at = excluded.registered_at, unregistered_at = excluded.unregistered_at
        """, name: "put_registration")

    /// Adds a token secret if there is none, and then returns all. Whoever does it at the same time has the same
    /// number, and is waited for.
    static func addFirstTokenSecret(_ drawn: [UInt8]) -> [Request] {
        [
            Request(
                """
                INSERT INTO token_secret (number, secret)
                SELECT 1, $1::bytea WHERE NOT EXISTS (SELECT 1 FROM token_secret)
                ON CONFLICT (number) DO NOTHING
                """
            ) { $0.add(drawn) },
            Request("SELECT secret FROM token_secret ORDER BY number"),
        ]
    }

    /// The statements of one change, in order.
    static func of(_ change: RegistryChange) -> [Request] {
        switch change {
        case .addTokenSecret(let secret):
            [
                // A secret that is added again becomes the newest.
                Request("DELETE FROM token_secret WHERE secret = $1") { $0.add(secret) },
                Request(
                    """
                    INSERT INTO token_secret (number, secret)
                    SELECT coalesce(max(number), 0) + 1, $1::bytea FROM token_secret
                    """
                ) { $0.add(secret) },
            ]
        case .putDevice(let record): [put(record)]
        case .noteSeen(let identity, let moment):
            [
                noteSeen.filled {
                    $0.add(moment.milliseconds)
                    $0.add(identity.bytes)
                }
            ]
        case .noteRun(let run): PresenceStatements.note(run)
        case .putPresence(let record): [PresenceStatements.put(record)]
        case .putLabel(let label): [put(label)]
        case .removeDevice(let identity):
            [
                ("presence", "device"), ("label", "device"), ("web_subscription", "device"),
                ("registration", "device"), ("device", "identity"),
            ].map { remove(from: $0.0, where: $0.1, identity.bytes) }
        case .putRegistration(let record): [put(record)]
        case .putWebSubscription(let subscription): [put(subscription)]
        case .putProviderKey(let record): [put(record)]
        case .removeProviderKey(let identifier):
            [remove(from: "provider_key", where: "identifier", identifier)]
        case .putTopic(let record): [put(record)]
        case .removeTopic(let topic): [remove(from: "topic", where: "topic", topic.text)]
        case .putEnrolmentKey(let record): [put(record)]
        case .removeEnrolmentKey(let name): [remove(from: "enrolment_key", where: "name", name)]
        case .putSendToken(let record): [put(record)]
        case .removeSendToken(let name): [remove(from: "send_token", where: "name", name)]
        case .useEnrolmentKey(let digest, let device): [use(digest, by: device)]
        case .putChannel(let record): [ChannelStatements.put(record)]
        case .removeChannel(let identity):
            [
                remove(from: "broadcast", where: "channel", identity.bytes),
                remove(from: "channel", where: "identity", identity.bytes),
            ]
        case .putBroadcast(let broadcast): [ChannelStatements.put(broadcast)]
        case .removeBroadcast(let channel): [remove(from: "broadcast", where: "channel", channel.bytes)]
        }
    }

    /// Divides by zero if the key has no uses left. Of two nodes that use a key at the same time, one waits for the
    /// other's transaction, and then sees what that has counted.
    private static func use(_ digest: [UInt8], by device: DeviceIdentity) -> Request {
        Request(
            """
            UPDATE enrolment_key SET used = CASE WHEN uses IS NULL OR used < uses THEN used + 1
                ELSE 1 / (used - used) END
            WHERE digest = $1 AND NOT EXISTS (SELECT 1 FROM device WHERE identity = $2)
            """
        ) {
            $0.add(digest)
            $0.add(device.bytes)
        }
    }

    private static func remove(from table: String, where column: String, _ bytes: [UInt8]) -> Request {
        Request("DELETE FROM \(table) WHERE \(column) = $1") { $0.add(bytes) }
    }

    private static func remove(from table: String, where column: String, _ text: String) -> Request {
        Request("DELETE FROM \(table) WHERE \(column) = $1") { $0.add(text) }
    }

    private static func put(_ record: DeviceRecord) -> Request {
        putDevice.filled {
            $0.add(record.identity.bytes)
            $0.add(record.secretDigest)
            $0.add(record.name)
            $0.add(record.enrolledAt.milliseconds)
            $0.add(record.seenAt.milliseconds)
        }
    }

    private static func put(_ label: DeviceLabel) -> Request {
        putLabel.filled {
            $0.add(label.device.bytes)
            $0.add(label.name?.text)
            $0.add(label.isGiven ? 1 : 0)
            $0.add(label.tags.map(\.text).joined(separator: " "))
        }
    }

    private static func put(_ subscription: WebSubscription) -> Request {
        Request(
            """
            INSERT INTO web_subscription (device, number, channel, sender_key)
            SELECT $1, $2, $3, $4 WHERE EXISTS (SELECT 1 FROM device WHERE identity = $1)
            ON CONFLICT (device, number) DO UPDATE SET channel = excluded.channel,
                sender_key = excluded.sender_key
            """
        ) {
            $0.add(subscription.device.bytes)
            $0.add(Int64(subscription.number.value))
            $0.add(subscription.channel)
            $0.add(subscription.senderKey)
        }
    }

    private static func put(_ record: RegistrationRecord) -> Request {
        putRegistration.filled {
            $0.add(record.device.bytes)
            $0.add(Int64(record.number.value))
            $0.add(record.topic.text)
            $0.add(record.registeredAt.milliseconds)
            $0.add(record.unregisteredAt?.milliseconds)
        }
    }

    private static func put(_ record: ProviderKeyRecord) -> Request {
        Request(
            """
            INSERT INTO provider_key (identifier, team, public_key, added_at, environment, topics,
                related_key, revoked_at, ends_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
            ON CONFLICT (identifier) DO UPDATE SET team = excluded.team, public_key = excluded.public_key,
                added_at = excluded.added_at, environment = excluded.environment, topics = excluded.topics,
                related_key = excluded.related_key, revoked_at = excluded.revoked_at,
                ends_at = excluded.ends_at
            """
        ) {
            $0.add(record.identifier)
            $0.add(record.team)
            $0.add(record.publicKey)
            $0.add(record.addedAt.milliseconds)
            $0.add(record.environment?.rawValue)
            // Topics are separated by spaces, which a topic cannot contain.
            $0.add(record.topics?.map(\.text).joined(separator: " "))
            $0.add(record.relatedKey)
            $0.add(record.revokedAt?.milliseconds)
            $0.add(record.endsAt?.milliseconds)
        }
    }

    private static func put(_ record: TopicRecord) -> Request {
        Request(
            """
            INSERT INTO topic (topic, team, takes_broadcasts) VALUES ($1, $2, $3)
            ON CONFLICT (topic) DO UPDATE SET team = excluded.team,
                takes_broadcasts = excluded.takes_broadcasts
            """
        ) {
            $0.add(record.topic.text)
            $0.add(record.team)
            $0.add(record.takesBroadcasts ? 1 : 0)
        }
    }

    private static func put(_ record: EnrolmentKeyRecord) -> Request {
        Request(
            """
            INSERT INTO enrolment_key (name, digest, added_at, tags, ends_at, uses, used, name_pattern)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
            ON CONFLICT (name) DO UPDATE SET digest = excluded.digest, added_at = excluded.added_at,
                tags = excluded.tags, ends_at = excluded.ends_at, uses = excluded.uses, used = excluded.used,
                name_pattern = excluded.name_pattern
            """
        ) {
            $0.add(record.name)
            $0.add(record.digest)
            $0.add(record.addedAt.milliseconds)
            $0.add(record.tags.map(\.text).joined(separator: " "))
            $0.add(record.endsAt?.milliseconds)
            $0.add(record.uses.map(Int64.init))
            $0.add(Int64(record.used))
            $0.add(record.namePattern)
        }
    }

    private static func put(_ record: SendTokenRecord) -> Request {
        Request(
            """
            INSERT INTO send_token (name, digest, topics, added_at) VALUES ($1, $2, $3, $4)
            ON CONFLICT (name) DO UPDATE SET digest = excluded.digest, topics = excluded.topics,
                added_at = excluded.added_at
            """
        ) {
            $0.add(record.name)
            $0.add(record.digest)
            $0.add(record.topics.map(\.text).joined(separator: " "))
            $0.add(record.addedAt.milliseconds)
        }
    }
}
