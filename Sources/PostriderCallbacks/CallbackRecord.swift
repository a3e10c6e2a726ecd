package import PostriderNotifications

/// A push whose provider wants to be called.
package struct CallbackPush: Sendable, Equatable {
    /// The row under which the relay has accepted it.
    package let row: QueueRow
    /// Its `apns-id`.
    package let identity: NotificationIdentity
    /// Its device.
    package let device: DeviceIdentity
    /// Its app.
    package let topic: Topic
    /// When the relay accepted it.
    package let acceptedAt: Moment
    /// The URL as the provider wrote it.
    package let url: String

    /// A push from its parts.
    package init(
        row: QueueRow, identity: NotificationIdentity, device: DeviceIdentity, topic: Topic,
        acceptedAt: Moment, url: String
    ) {
        self.row = row
        self.identity = identity
        self.device = device
        self.topic = topic
        self.acceptedAt = acceptedAt
        self.url = url
    }

    /// The push of a notification; nil if its provider does not want to be called.
    package init?(_ queued: QueuedNotification) {
        let notification = queued.notification
        guard let url = notification.callback else { return nil }
        self.init(
            row: queued.row, identity: notification.identity, device: notification.device,
            topic: notification.topic, acceptedAt: notification.acceptedAt, url: url)
    }
}

/// What a relay writes down about callbacks, so that they survive its end. Each record is a line of words; records of
/// one push are in the order of its life.
package enum CallbackRecord: Sendable, Equatable {
    /// The provider of a push wants to be called.
    case expected(CallbackPush)
    /// What becomes of the push of another row is what becomes of this.
    case merged(QueueRow, into: QueueRow)
    /// The provider of the push of this row is to be told this event.
    case owed(CallbackMessage, row: QueueRow, event: String)
    /// The provider of the push of this row was told this event.
    case told(QueueRow, event: String)
    /// The message with this identity was delivered, or is given up.
    case settled(String)

    /// The record as a line, without its end.
    package var line: String {
        switch self {
        case .expected(let push):
            "push \(push.row.value) \(push.identity) \(push.device) \(push.topic.text) "
                + "\(push.acceptedAt.milliseconds) \(push.url)"
        case .merged(let row, let other): "merged \(row.value) \(other.value)"
        case .owed(let message, let row, let event):
            "owed \(row.value) \(event) \(message.id) \(message.url.text) "
                + String(decoding: message.body, as: UTF8.self)
        case .told(let row, let event): "told \(row.value) \(event)"
        case .settled(let identity): "settled \(identity)"
        }
    }

    /// Reads a line; nil if it is not a whole record, such as one whose end was not written.
    package init?(line: some StringProtocol) {
        let words = line.split(separator: " ", maxSplits: 6)
        switch (words.first, words.count) {
        case ("push", 7):
            guard let row = Int64(words[1]), let identity = NotificationIdentity(String(words[2])),
                let device = DeviceIdentity(hex: String(words[3])), let topic = Topic(String(words[4])),
                let moment = Int64(words[5]), CallbackURL(String(words[6])) != nil
            else { return nil }
            self = .expected(
                CallbackPush(
                    row: QueueRow(row), identity: identity, device: device, topic: topic,
                    acceptedAt: Moment(milliseconds: moment), url: String(words[6])))
        case ("merged", 3):
            guard let row = Int64(words[1]), let other = Int64(words[2]) else { return nil }
            self = .merged(QueueRow(row), into: QueueRow(other))
        case ("told", 3):
            guard let row = Int64(words[1]) else { return nil }
            self = .told(QueueRow(row), event: String(words[2]))
        case ("owed", 6...):
            let words = line.split(separator: " ", maxSplits: 5)
            guard let row = Int64(words[1]), let url = CallbackURL(String(words[4])),
                words[5].first == "{", words[5].last == "}"
            else { return nil }
            let message = CallbackMessage(id: String(words[3]), url: url, body: Array(words[5].utf8))
            self = .owed(message, row: QueueRow(row), event: String(words[2]))
        case ("settled", 2): self = .settled(String(words[1]))
        default: return nil
        }
    }
}

/// Keeps the records of callbacks beyond the end of the relay. Any thread may call it.
package protocol CallbackStore: Sendable {
    /// What was owed when the relay ended last.
    func load() -> CallbackBacklog
    /// Adds records, and returns at once.
    func append(_ records: [CallbackRecord])
}
