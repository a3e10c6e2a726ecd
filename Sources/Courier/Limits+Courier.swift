public import Notifications

extension Limits {
    /// Bytes of one message from a relay. The largest, a welcome that lists ``Limits/registrationsPerDevice``
    /// registrations with the longest topics, is below 80 KiB; a device holds at most one.
    public static let relayMessageBytes = 131_072
    /// Bytes of an enrolment key, of a device's name and of an agent's name and version.
    public static let courierTextBytes = 255
    /// Bytes of a device secret.
    public static let deviceSecretBytes = 32
    /// The longest `retry_after_milliseconds` that a device obeys: an hour.
    public static let retryAfterMilliseconds = 60 * 60 * 1000
}
