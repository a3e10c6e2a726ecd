package import PostriderNotifications

/// The tables of the registry file for the presence of devices and the relay's last run.
struct PresenceTables {
    private let putPresence: Statement
    private let removePresence: Statement
    private let endRun: Statement
    private let putRun: [Statement]

    /// The migration that creates the tables.
    static let schemaStep = """
        CREATE TABLE presence (
            device BLOB PRIMARY KEY,
            is_connected INTEGER NOT NULL,
            since INTEGER NOT NULL,
            address TEXT NOT NULL,
            agent TEXT NOT NULL,
            ending TEXT
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE run (
            started_at INTEGER PRIMARY KEY,
            alive_at INTEGER NOT NULL,
            is_stopped INTEGER NOT NULL
        ) STRICT;
        """

    init(_ database: Database) throws(StoreError) {
        putPresence = try database.prepare(
            """
            REPLACE INTO presence SELECT ?1, ?2, ?3, ?4, ?5, ?6
            WHERE EXISTS (SELECT 1 FROM device WHERE identity = ?1)
            """)
        removePresence = try database.prepare("DELETE FROM presence WHERE device = ?")
        endRun = try database.prepare(
            """
            UPDATE presence SET
                is_connected = 0,
                since = max(since, (SELECT alive_at FROM run)),
                ending = (SELECT iif(is_stopped, '\(DevicePresence.Ending.relayStopped.rawValue)',
                    '\(DevicePresence.Ending.relayFailed.rawValue)') FROM run)
            WHERE is_connected AND EXISTS (SELECT 1 FROM run WHERE started_at <> ?)
            """)
        putRun = [
            try database.prepare("DELETE FROM run WHERE started_at <> ?"),
            try database.prepare(
                """
                INSERT INTO run VALUES (?,?,?) ON CONFLICT DO UPDATE SET
                    alive_at = max(alive_at, excluded.alive_at),
                    is_stopped = max(is_stopped, excluded.is_stopped)
                """),
        ]
    }

    func note(_ run: RelayRun) throws(StoreError) {
        endRun.bind(run.startedAt.milliseconds)
        try endRun.run()
        putRun[0].bind(run.startedAt.milliseconds)
        try putRun[0].run()
        putRun[1].bind(run.startedAt.milliseconds)
        putRun[1].bind(run.aliveAt.milliseconds)
        putRun[1].bind(run.isStopped ? 1 : 0)
        try putRun[1].run()
    }

    func put(_ record: PresenceRecord) throws(StoreError) {
        putPresence.bind(record.device.inlineBytes.span)
        putPresence.bind(record.presence.isConnected ? 1 : 0)
        putPresence.bind(record.presence.since.milliseconds)
        putPresence.bind(record.presence.address)
        putPresence.bind(record.presence.agent)
        putPresence.bind(record.presence.ending?.rawValue)
        try putPresence.run()
    }

    func remove(_ device: DeviceIdentity) throws(StoreError) {
        removePresence.bind(device.inlineBytes.span)
        try removePresence.run()
    }
}

extension PresenceRecord {
    /// Reads the presence of the current row; nil if a column has an invalid value.
    package init?(row: some ColumnReader) {
        let ending = row.isNull(5) ? nil : DevicePresence.Ending(rawValue: row.text(5))
        guard let device = row.withBytes(0, { DeviceIdentity($0) }), row.isNull(5) || ending != nil else {
            return nil
        }
        self.init(
            device: device,
            presence: DevicePresence(
                isConnected: row.integer(1) != 0, since: Moment(milliseconds: row.integer(2)),
                address: row.text(3), agent: row.text(4), ending: ending))
    }
}

extension RelayRun {
    /// Reads the run of the current row.
    package init(row: some ColumnReader) {
        self.init(
            startedAt: Moment(milliseconds: row.integer(0)), aliveAt: Moment(milliseconds: row.integer(1)),
            isStopped: row.integer(2) != 0)
    }
}
