package import PostriderNotifications

/// The table of the registry file for topics.
struct TopicTable {
    private let putTopic: Statement
    private let removeTopic: Statement

    init(_ database: Database) throws(StoreError) {
        putTopic = try database.prepare("REPLACE INTO topic VALUES (?,?,?)")
        removeTopic = try database.prepare("DELETE FROM topic WHERE topic = ?")
    }

    func put(_ record: TopicRecord) throws(StoreError) {
        putTopic.bind(record.topic.text)
        putTopic.bind(record.team)
        putTopic.bind(record.takesBroadcasts ? 1 : 0)
        try putTopic.run()
    }

    func remove(_ topic: Topic) throws(StoreError) {
        removeTopic.bind(topic.text)
        try removeTopic.run()
    }
}

extension TopicRecord {
    /// Reads the topic of the current row; nil if a column has an invalid value.
    package init?(row: some ColumnReader) {
        guard let topic = Topic(row.text(0)) else { return nil }
        self.init(topic: topic, team: row.text(1), takesBroadcasts: row.integer(2) != 0)
    }
}
