import Courier
import Notifications

extension Limits {
    /// Notifications of one topic that wait for its app. At 5 KiB each: 5 MiB on the disk. The oldest of lowest
    /// priority is dropped and told to the log.
    static let inboxPerTopic = 1000
    /// Identities of one topic that are remembered, so that a second copy is known as one. More than a relay keeps
    /// pending for it (``Limits/pendingPerRegistration``). At about 80 bytes each: 320 KiB on the disk.
    static let seenPerTopic = 4096
    /// Days that an identity is remembered: one more than a relay keeps a notification.
    static let seenDays = storedDays + 1
    /// Deliveries that may be under way to an app on one stream.
    static let appWindow = DeliveryWindow.largest
    /// Bytes of one message from an app.
    static let appMessageBytes = 16_384
    /// Connections to the app socket that one user may have.
    static let appConnectionsPerUser = 64
    /// Attach streams on one of these connections.
    static let streamsPerAppConnection: UInt32 = 8
    /// Pages of the write-ahead log after which it is copied into the database: 4 MiB.
    static let logPages = 1024
}
