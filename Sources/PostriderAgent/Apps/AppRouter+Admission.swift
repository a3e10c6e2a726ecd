import PostriderCourier
import PostriderNotifications
import PostriderStorage

// Which apps may have which topics.
extension AppRouter {
    /// The record of a topic, added if it is new, if the stream's user may have it. With `environment` it gets a token
    /// there; without, none.
    func admit(_ text: String, in environment: Environment?, for stream: AppStream) throws -> AppRecord {
        guard let topic = Topic(text) else { throw AppRefusal.notATopic }
        if programs?.excludes(stream, from: text) == true { throw AppRefusal.hasHandler(topic) }
        if let user = declarations[text], user != stream.user { throw AppRefusal.notYours(topic) }
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
        let others = state.apps.records.keys.count { declarations[$0] == nil }
        return declarations[topic] != nil || others + declarations.count < Limits.registrationsPerDevice
    }
}
