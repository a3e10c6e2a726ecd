import PostriderNotifications
import Synchronization

/// The topics that metrics name, the same for all shards: the first ``Limits/measuredTopics`` that were pushed to. A
/// topic keeps its number, so that a counter never falls; all others are counted as one, under ``other``.
final class TopicLabels: Sendable {
    /// What stands in the place of a topic that has no number. No topic can be spelled so.
    static let other = "(other)"

    private let topics = Mutex<[Topic]>([])
    /// Topics that are given a number.
    let capacity: Int

    init(capacity: Int = Limits.measuredTopics) { self.capacity = capacity }

    /// Gives a topic a number, if there is one left; answers all topics then.
    func add(_ topic: Topic) -> [Topic] {
        topics.withLock { topics in
            if topics.count < capacity, !topics.contains(topic) { topics.append(topic) }
            return topics
        }
    }
}

/// Counts for topics, as a plain value. The topics of two shards' counts begin alike: both are the first of one
/// ``TopicLabels``.
struct TopicCounts: Sendable {
    /// Those that metrics name, in the order of their numbers.
    private(set) var topics: [Topic] = []
    /// By the topic's number.
    private(set) var counts: [UInt64] = []
    /// Of all other topics.
    private(set) var others: UInt64 = 0

    /// Adds another shard's counts.
    static func += (left: inout TopicCounts, right: TopicCounts) {
        left.name(right.topics)
        for (number, count) in right.counts.enumerated() { left.counts[number] += count }
        left.others += right.others
    }

    /// One more for the topic of this number; nil: for one without a number.
    fileprivate mutating func count(_ number: Int?) {
        if let number { counts[number] += 1 } else { others += 1 }
    }

    /// Names these topics; the first of them are those that it names already.
    fileprivate mutating func name(_ newer: [Topic]) {
        guard newer.count > topics.count else { return }
        topics = newer
        while counts.count < newer.count { counts.append(0) }
    }
}

/// Counts a shard's notifications by topic. Most pushes are for the topic of the one before; the lock of
/// ``TopicLabels`` is taken only while there are topics that this shard has not seen.
struct TopicCounter {
    private(set) var counts = TopicCounts()
    private let labels: TopicLabels
    private var numbers: [Topic: Int] = [:]
    private var last: (topic: Topic, number: Int)?

    init(_ labels: TopicLabels) { self.labels = labels }

    /// One more for a topic.
    mutating func count(_ topic: Topic) {
        if let last, last.topic == topic { return counts.count(last.number) }
        let number = number(of: topic)
        if let number { last = (topic, number) }
        counts.count(number)
    }

    private mutating func number(of topic: Topic) -> Int? {
        if let number = numbers[topic] { return number }
        guard numbers.count < labels.capacity else { return nil }
        let topics = labels.add(topic)
        for number in numbers.count..<topics.count { numbers[topics[number]] = number }
        counts.name(topics)
        return numbers[topic]
    }
}
