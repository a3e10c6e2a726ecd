package import PostriderNotifications
package import PostriderSeededRandom

/// Values for many tests.
package enum Samples {
    package static let device = DeviceIdentity(high: 0x0102_0304_0506_0708, low: 0x090A_0B0C)
    package static let secret = [UInt8](0x20..<0x40)
    package static let topic = named("com.example.app")
    package static let otherTopic = named("com.example.other")
    package static let first = RegistrationNumber(1)
    package static let second = RegistrationNumber(2)
    package static let now = Moment(milliseconds: 1_700_000_000_000)

    package static let record = DeviceRecord(
        identity: device, secretDigest: [UInt8](repeating: 7, count: 32), name: "phone", enrolledAt: now)

    package static func named(_ text: String) -> Topic {
        guard let topic = Topic(text) else { preconditionFailure("\(text) is a topic") }
        return topic
    }

    package static func registration(
        _ number: RegistrationNumber = first,
        of topic: Topic = topic,
        unregisteredAt: Moment? = nil,
        on device: DeviceIdentity = device
    ) -> RegistrationRecord {
        RegistrationRecord(
            device: device, number: number, topic: topic, registeredAt: now, unregisteredAt: unregisteredAt)
    }

    /// Returns the notification of this number; the number is its identity.
    package static func notification(
        _ number: UInt64,
        to registration: RegistrationNumber = first,
        topic: Topic = topic,
        priority: Priority = .immediate,
        expiration: Expiration = .at(now.advanced(byMilliseconds: 60_000)),
        collapse: String? = nil,
        device: DeviceIdentity = device,
        payload: [UInt8] = Array("{}".utf8)
    ) -> Notification {
        Notification(
            identity: NotificationIdentity(high: 1, low: number),
            device: device,
            registration: registration,
            topic: topic,
            pushType: .alert,
            priority: priority,
            expiration: expiration,
            collapseIdentifier: collapse,
            payload: payload,
            acceptedAt: now
        )
    }

    /// Returns the stored entry of this row: a notification of the same number.
    package static func entry(
        _ row: Int64, of device: DeviceIdentity = device,
        expiresAt: Moment = now.advanced(byMilliseconds: 60_000)
    ) -> QueueEntry {
        QueueEntry(
            row: QueueRow(row),
            notification: notification(UInt64(row), expiration: .at(expiresAt), device: device))
    }

    package static func replyAddress(_ stream: Int) -> ReplyAddress {
        ReplyAddress(shard: 0, stream: Int32(stream), connection: 1)
    }
}

extension SplitMix64 {
    /// Returns true in `numerator` of `denominator` cases.
    package mutating func chance(_ numerator: Int, in denominator: Int) -> Bool {
        Int.random(in: 0..<denominator, using: &self) < numerator
    }

    /// Returns one of these elements, at random.
    package mutating func pick<Choices: Collection>(_ choices: Choices) -> Choices.Element {
        guard let choice = choices.randomElement(using: &self) else {
            preconditionFailure("there is something to choose from")
        }
        return choice
    }
}
