package import PostriderNotifications

/// The table of the registry file for tokens of plain sends.
struct SendTokenTable {
    private let putToken: Statement
    private let removeToken: Statement

    /// The migration that creates the table. Topics are separated by spaces, which a topic cannot contain.
    static let schemaStep = """
        CREATE TABLE send_token (
            name TEXT PRIMARY KEY,
            digest BLOB NOT NULL,
            topics TEXT NOT NULL,
            added_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        """

    init(_ database: Database) throws(StoreError) {
        putToken = try database.prepare("REPLACE INTO send_token VALUES (?,?,?,?)")
        removeToken = try database.prepare("DELETE FROM send_token WHERE name = ?")
    }

    func put(_ record: SendTokenRecord) throws(StoreError) {
        putToken.bind(record.name)
        putToken.bind(record.digest)
        putToken.bind(record.topics.map(\.text).joined(separator: " "))
        putToken.bind(record.addedAt.milliseconds)
        try putToken.run()
    }

    func remove(_ name: String) throws(StoreError) {
        removeToken.bind(name)
        try removeToken.run()
    }
}

extension SendTokenRecord {
    /// Reads the token of the current row; nil if a column has an invalid value.
    package init?(row: some ColumnReader) {
        let names = row.text(2).split(separator: " ")
        let topics = names.compactMap { Topic(String($0)) }
        guard topics.count == names.count else { return nil }
        self.init(
            name: row.text(0), digest: row.bytes(1), topics: topics,
            addedAt: Moment(milliseconds: row.integer(3)))
    }
}
