import PostriderNotifications
import Testing

@testable import PostriderProviderAPI

@Suite("A reader of topics")
struct TopicCacheTests {
    private let reader = TopicCache()

    private func topic(_ text: String) -> Topic? {
        let bytes = Array(text.utf8)
        return reader.topic(bytes.span)
    }

    @Test("reads what a topic's own check reads, however often and whatever came before")
    func agreement() {
        let texts =
            [
                "", "a", "ab", "a.b", "b.a", "com.example.app", "com.example.app.voip", "com.example.bpp",
                "ä.b", "a b",
            ]
            + (0..<200).map { "com.example.app\($0)" }
            + [
                String(repeating: "x", count: Limits.topicBytes),
                String(repeating: "x", count: Limits.topicBytes + 1),
            ]
        for text in texts + texts.reversed() + texts { #expect(topic(text) == Topic(text), "\(text)") }
    }

    @Test("takes bytes that are no text for no topic")
    func noText() {
        #expect(reader.topic([0xFF, 0xFE, 0x61].span) == nil)
    }
}
