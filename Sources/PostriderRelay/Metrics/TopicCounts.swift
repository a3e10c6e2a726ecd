import PostriderNotifications
import Synchronization

/// The topics that metrics name, the same for all shards: the first ``Limits/measuredTopics`` that got a push. A topic
/// keeps its number, so that its counter never falls. All others are counted together as ``other``.
final class TopicLabels: Sendable {
    /// The label of all topics without a number. No topic can have this name.
    static let other = "(other)"

    private let topics = Mutex<[Topic]>([])
    /// How many topics get a number.
    let capacity: Int

    init(capacity: Int = Limits.measuredTopics) { self.capacity = capacity }

    /// Gives a topic a number, if there is one left. Returns all topics with a number.
    func add(_ topic: Topic) -> [Topic] {
        topics.withLock { topics in
            if topics.count < capacity, !topics.contains(topic) { topics.append(topic) }
            return topics
        }
    }
}

/// Counts by topic, as a plain value. The topics of two shards' counts have a common prefix, because both are prefixes
/// of ``TopicLabels``.
struct TopicCounts: Sendable {
    /// The topics that metrics name, in the order of their numbers.
    private(set) var topics: [Topic] = []
    /// The counts by the topics' numbers.
    private(set) var counts: [UInt64] = []
    /// The count of all other topics.
    private(set) var others: UInt64 = 0

    /// Adds another shard's counts.
    static func += (left: inout TopicCounts, right: TopicCounts) {
        left.name(right.topics)
        for (number, count) in right.counts.enumerated() { left.counts[number] += count }
        left.others += right.others
    }

    /// Counts one for the topic of this number; nil for a topic without a number.
    fileprivate mutating func count(_ number: Int?) {
        if let number { counts[number] += 1 } else { others += 1 }
    }

    /// Extends the list of topics; `newer` begins with those that are known.
    fileprivate mutating func name(_ newer: [Topic]) {
        guard newer.count > topics.count else { return }
        topics = newer
        while counts.count < newer.count { counts.append(0) }
    }
}

/// Counts a shard's notifications by topic. Most pushes are for the same topic as the one before. The lock of
/// ``TopicLabels`` is taken only for topics that this shard has not seen.
struct TopicCounter {
    private(set) var counts = TopicCounts()
    private let labels: TopicLabels
    private var numbers: [Topic: Int] = [:]
    /// The topic of the last push, which need not be the one under which it is counted.
    private var last: (topic: Topic, number: Int)?

    init(_ labels: TopicLabels) { self.labels = labels }

    /// Counts one notification of a topic.
    mutating func count(_ topic: Topic) {
        if let last, last.topic == topic { return counts.count(last.number) }
        let number = number(of: topic.counted)
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
