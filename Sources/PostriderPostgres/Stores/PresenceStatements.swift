import PostriderNotifications

/// The statements that change the presence of devices and the relay's last run.
enum PresenceStatements {
    static let putPresence = Request(
        """
        INSERT INTO presence (device, is_connected, since, address, agent, ending)
        SELECT $1::bytea, $2::bigint, $3::bigint, $4::text, $5::text, $6::text
        WHERE EXISTS (SELECT 1 FROM device WHERE identity = $1)
        ON CONFLICT (device) DO UPDATE SET is_connected = excluded.is_connected, since = excluded.since,
            address = excluded.address, agent = excluded.agent, ending = excluded.ending
        """, name: "put_presence")

    static func put(_ record: PresenceRecord) -> Request {
        putPresence.filled {
            $0.add(record.device.bytes)
            $0.add(record.presence.isConnected ? 1 : 0)
            $0.add(record.presence.since.milliseconds)
            $0.add(record.presence.address)
            $0.add(record.presence.agent)
            $0.add(record.presence.ending?.rawValue)
        }
    }

    /// A run that is new ends the last one, and with it the presence of all devices that were connected.
    static func note(_ run: RelayRun) -> [Request] {
        [
            Request(
                """
                UPDATE presence SET is_connected = 0, since = greatest(since, (SELECT alive_at FROM run)),
                    ending = (SELECT CASE WHEN is_stopped = 1
                        THEN '\(DevicePresence.Ending.relayStopped.rawValue)'
                        ELSE '\(DevicePresence.Ending.relayFailed.rawValue)' END FROM run)
                WHERE is_connected = 1 AND EXISTS (SELECT 1 FROM run WHERE started_at <> $1)
                """
            ) { $0.add(run.startedAt.milliseconds) },
            Request("DELETE FROM run WHERE started_at <> $1") { $0.add(run.startedAt.milliseconds) },
            Request(
                """
                INSERT INTO run (started_at, alive_at, is_stopped) VALUES ($1, $2, $3)
                ON CONFLICT (started_at) DO UPDATE SET alive_at = greatest(run.alive_at, excluded.alive_at),
                    is_stopped = greatest(run.is_stopped, excluded.is_stopped)
                """
            ) {
                $0.add(run.startedAt.milliseconds)
                $0.add(run.aliveAt.milliseconds)
                $0.add(run.isStopped ? 1 : 0)
            },
        ]
    }
}
