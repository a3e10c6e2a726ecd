/// Whose calls are worked off next: the users of the device in turn, and of each user the connections in turn. However
/// much one of them asks, nobody else waits for more than its share. But a connection that began after another of its
/// user had gone may be of the same app, come back: it waits until all that the other had called for is worked off.
struct FairQueue {
    private var users: [UInt32] = []
    private var sessions: [UInt32: [AppSession]] = [:]

    /// Whether no calls wait.
    var isEmpty: Bool { users.isEmpty }

    /// A connection has calls that wait; it is not among them.
    mutating func add(_ session: AppSession) {
        if sessions[session.user] == nil { users.append(session.user) }
        sessions[session.user, default: []].append(session)
    }

    /// Takes out the connection whose turn it is.
    mutating func next() -> AppSession? {
        guard !users.isEmpty else { return nil }
        let user = users.removeFirst()
        guard var own = sessions.removeValue(forKey: user), !own.isEmpty else { return nil }
        let firstGone = own.compactMap(\.goneAt).min() ?? .max
        let session = own.remove(at: own.firstIndex { $0.openedAt < firstGone } ?? 0)
        if !own.isEmpty {
            sessions[user] = own
            users.append(user)
        }
        return session
    }
}
