/// What a team or an app may use of a relay, as its operator has written it: `team=DEF123GHIJ pending=10000`.
public struct Quota: Sendable, Hashable {
    /// The team or the app that a quota limits.
    public enum Subject: Sendable, Hashable {
        /// All topics of a team together.
        case team(String)
        /// An app: its topic, with those that have the suffix of a push type.
        case topic(Topic)
    }

    /// What a quota limits. The raw value is its name in a configuration.
    public enum Limit: String, CaseIterable, Sendable {
        /// Pushes and broadcasts a second on average, with a burst of ``Limits/pushBurstSeconds`` times as many.
        case pushesPerSecond = "pushes-per-second"
        /// Notifications that wait for their devices.
        case pending
        /// Devices that have a valid token.
        case devices
        /// Bytes of one payload.
        case payloadBytes = "payload-bytes"

        /// The largest number that has a meaning.
        var most: Int {
            switch self {
            case .pushesPerSecond: 1_000_000
            case .pending, .devices: Limits.quota
            case .payloadBytes: Limits.voipPayloadBytes
            }
        }
    }

    /// The team or the app; nil for a *usual* quota, which limits each team or app without one of its own.
    public let subject: Subject?
    /// Whether it is for teams; otherwise it is for topics.
    public let isOfTeams: Bool
    /// The limits that it sets.
    public let limits: [Limit: Int]

    /// Reads a quota: `team=` or `topic=`, then an identifier or `*`, and behind it one limit or more with spaces
    /// between. Nil if the text has another form.
    public init?(_ text: String) {
        let words = text.split(separator: " ").map {
            $0.split(separator: "=", omittingEmptySubsequences: false)
        }
        guard let head = words.first, words.count > 1, words.allSatisfy({ $0.count == 2 }) else { return nil }
        switch head[0] {
        case "team":
            isOfTeams = true
            guard (1...Limits.keyIdentifierBytes).contains(head[1].utf8.count) else { return nil }
            subject = head[1] == "*" ? nil : .team(String(head[1]))
        case "topic":
            isOfTeams = false
            if head[1] == "*" {
                subject = nil
            } else {
                guard let topic = Topic(String(head[1])) else { return nil }
                subject = .topic(topic)
            }
        default: return nil
        }
        var limits: [Limit: Int] = [:]
        for word in words.dropFirst() {
            guard let limit = Limit(rawValue: String(word[0])), let number = Int(word[1]),
                (1...limit.most).contains(number), limits.updateValue(number, forKey: limit) == nil
            else { return nil }
        }
        self.limits = limits
    }
}

extension Quota.Subject {
    /// `team` or `topic`.
    public var kind: String {
        switch self {
        case .team: "team"
        case .topic: "topic"
        }
    }

    /// The identifier of the team, or the topic.
    public var name: String {
        switch self {
        case .team(let team): team
        case .topic(let topic): topic.text
        }
    }
}
