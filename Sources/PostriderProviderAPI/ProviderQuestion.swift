package import PostriderNotifications

/// What a provider asks the relay besides pushing. Apple has no such requests.
package enum ProviderQuestion: Sendable, Hashable {
    /// The device tokens of devices: `GET /3/tokens?…`.
    case devices(DeviceLookup)
    /// How far a push has come: `GET /3/pushes/<apns-id>?…`.
    case push(PushLookup)
}

/// A provider's request for the state of a push that was made for one of its apps.
package struct PushLookup: Sendable, Hashable {
    /// The identifier of the provider's key.
    package let key: String
    package let topic: Topic
    package let environment: Environment
    /// The `apns-id` or `apns-unique-id` of the push.
    package let identity: NotificationIdentity
    /// What stands behind the question mark: the stage to wait for, and for how long. The relay reads it.
    package let query: String

    package init(
        key: String, topic: Topic, environment: Environment, identity: NotificationIdentity, query: String
    ) {
        (self.key, self.topic, self.environment) = (key, topic, environment)
        (self.identity, self.query) = (identity, query)
    }
}

extension Limits {
    /// Requests of one key that wait for a push at the same time.
    package static let pushLookups = 64
    /// Such requests of one key: on average, and after a pause. Each one may read 16 MiB of the trace twice.
    package static let pushLookupRate = (perSecond: 5, atOnce: 100)
}
