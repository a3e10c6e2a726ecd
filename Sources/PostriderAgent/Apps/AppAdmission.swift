import PostriderCourier
import PostriderNotifications
import PostriderStorage

/// Decides which apps may have which topics.
final class AppAdmission {
    private let state: AgentState
    private let declared: DeclaredApps

    init(_ state: AgentState, declared: DeclaredApps) {
        self.state = state
        self.declared = declared
    }

    /// The user who has a topic.
    func owner(of record: AppRecord) -> UInt32 { declared.users[record.topic.text] ?? record.user }

    /// The record of a topic, added if it is new, if the stream's user may have it. With `environment` it gets a token
    /// there; without, none.
    func admit(_ text: String, in environment: Environment?, for stream: AppStream) throws -> AppRecord {
        guard let topic = Topic(text), stream.isHandler || !RegisterWebPush.hasForm(text) else {
            throw AppRefusal.notATopic
        }
        if !stream.isHandler, declared[text]?.handler != nil { throw AppRefusal.hasHandler(topic) }
        if let user = declared.users[text], user != stream.user { throw AppRefusal.notYours(topic) }
        guard var record = state.apps[text] else {
            guard hasRoom(for: text) else { throw AppRefusal.tooMany }
            return try state.apps.add(
                topic, user: stream.user, in: environment ?? .production, isWanted: environment != nil)
        }
        guard owner(of: record) == stream.user else { throw AppRefusal.notYours(topic) }
        let isSame = environment ?? record.environment == record.environment
        record = AppRecord(
            number: record.number, topic: topic, user: stream.user,
            environment: environment ?? record.environment, token: isSame ? record.token : nil,
            isWanted: environment != nil || record.isWanted)
        try state.apps.put(record)
        return record
    }

    /// Whether there is room for another app. Declared apps always have room.
    private func hasRoom(for topic: String) -> Bool {
        let others = state.apps.records.keys.count { declared.users[$0] == nil }
        return declared.users[topic] != nil || others + declared.users.count < Limits.registrationsPerDevice
    }
}
