import PostriderCourier
import PostriderNotifications

/// The streams that apps have attached to their topics, and what the end of the turn has to do for them.
///
/// Whoever stores something for an app marks its topic here; the end of the turn hands it over.
final class AttachedStreams {
    /// By topic: its streams, the newest last, and how much of the inbox the newest has been given.
    var attachments: [String: TopicAttachments] = [:]
    /// Topics that may have something to be handed over.
    var dueTopics: Set<String> = []
    /// Whether the relay has to be told the delivery preferences again.
    var isReceptionStale = true

    /// All streams that are attached to a topic, each once.
    var all: [AppStream] {
        var seen: Set<ObjectIdentifier> = []
        return attachments.values.flatMap(\.streams).filter { seen.insert(ObjectIdentifier($0)).inserted }
    }

    /// The stream that gets a topic's notifications; nil if none is attached.
    func newest(of topic: String) -> AppStream? { attachments[topic]?.streams.last }

    /// Whether a stream gets the notifications of a topic.
    func isNewest(_ stream: AppStream) -> Bool {
        attachments.values.contains { $0.streams.last === stream }
    }

    /// Whether a row of the inbox is under way on a stream.
    func isUnderWay(_ row: Int64) -> Bool {
        attachments.values.contains { $0.streams.contains { $0.isUnderWay(row) } }
    }

    /// Sends a message to all streams of a topic.
    func tell(_ topic: String, _ message: AgentMessage) {
        for stream in attachments[topic]?.streams ?? [] { stream.tell(message) }
    }

    /// A topic may have something new in the inbox.
    func markDue(_ topic: String) { dueTopics.insert(topic) }

    /// The topics that a stream gets may have something to be handed over, because the stream has room again.
    func markDue(topicsOf stream: AppStream) {
        for (topic, present) in attachments where present.streams.last === stream { dueTopics.insert(topic) }
    }

    /// The rows of these topics are read again, from the first one on.
    func rewind(_ topics: Set<String>) {
        for topic in topics {
            attachments[topic]?.rewind()
            markDue(topic)
        }
    }

    /// Adds a stream as the newest of a topic. Returns false if it is that already.
    func add(_ stream: AppStream, to topic: String) -> Bool {
        var present = attachments[topic] ?? TopicAttachments()
        guard present.streams.last !== stream else { return false }
        present.streams.removeAll { $0 === stream }
        present.streams.append(stream)
        present.rewind()
        attachments[topic] = present
        isReceptionStale = true
        dueTopics.insert(topic)
        return true
    }

    /// Removes a stream from a topic. Returns whether it was the last one there.
    func remove(_ stream: AppStream, from topic: String) -> Bool {
        guard var remaining = attachments[topic],
            let index = remaining.streams.firstIndex(where: { $0 === stream })
        else { return false }
        remaining.streams.remove(at: index)
        if index == remaining.streams.count { remaining.rewind() }
        attachments[topic] = remaining.streams.isEmpty ? nil : remaining
        isReceptionStale = true
        dueTopics.insert(topic)
        return remaining.streams.isEmpty
    }
}
