import PostriderNotifications

/// Parses topics, and caches the last ones: comparing a text with the cached one is cheaper than checking it and making
/// a new string for each push. One per shard.
package final class TopicCache {
    private struct Memory {
        var text: [UInt8] = []
        var topic: Topic?
    }

    /// The place of a topic depends on its length and its last characters.
    private var memories = [Memory](repeating: Memory(), count: TopicCache.places)

    private static let places = 64

    /// An empty cache.
    package init() {}

    /// The topic in these bytes; nil if they are not a topic.
    func topic(_ text: Span<UInt8>) -> Topic? {
        guard text.count > 1 else { return Topic(text) }
        let ending = Int(text[text.count - 1]) &+ 31 &* Int(text[text.count - 2])
        let place = (ending &+ 7 &* text.count) % Self.places
        if isKnown(text, at: place) { return memories[place].topic }
        guard let topic = Topic(text) else { return nil }
        memories[place] = Memory(text: Array(topic.text.utf8), topic: topic)
        return topic
    }

    private func isKnown(_ text: Span<UInt8>, at place: Int) -> Bool {
        let known = memories[place].text
        guard known.count == text.count else { return false }
        let span = known.span
        for index in text.indices where text[index] != span[index] { return false }
        return true
    }
}

extension Topic {
    fileprivate init?(_ text: Span<UInt8>) {
        guard let text = try? UTF8Span(validating: text) else { return nil }
        self.init(String(copying: text))
    }
}
