/// The streams that are attached to a topic, and how much of the inbox the newest of them has been given.
struct TopicAttachments {
    /// The newest last.
    var streams: [AppStream] = []
    /// The last row that the newest stream has been given.
    var lastRow: Int64 = 0
    /// How many messages had been stored for the app when the newest stream was given the last of them; nil if more of
    /// them may wait.
    var storedCount: Int?

    /// The rows are read again, from the first one on.
    mutating func rewind() {
        lastRow = 0
        storedCount = nil
    }
}
