/// Decides whose messages are processed next: the users of the device in turn, and for each user the connections in
/// turn, so that nobody can take more than a fair share. One exception keeps the order of an app that reconnects: a
/// connection that began after another one of its user had ended waits until all messages of that one are processed.
struct FairQueue {
    private var users: [UInt32] = []
    private var sessions: [UInt32: [AppSession]] = [:]

    /// Whether no messages wait.
    var isEmpty: Bool { users.isEmpty }

    /// Adds a connection with waiting messages; it must not be in the queue.
    mutating func add(_ session: AppSession) {
        if sessions[session.user] == nil { users.append(session.user) }
        sessions[session.user, default: []].append(session)
    }

    /// Removes and returns the connection whose turn it is.
    mutating func next() -> AppSession? {
        guard !users.isEmpty else { return nil }
        let user = users.removeFirst()
        guard var own = sessions.removeValue(forKey: user), !own.isEmpty else { return nil }
        let firstClosed = own.compactMap(\.closedAt).min() ?? .max
        let session = own.remove(at: own.firstIndex { $0.openedAt < firstClosed } ?? 0)
        if !own.isEmpty {
            sessions[user] = own
            users.append(user)
        }
        return session
    }
}
