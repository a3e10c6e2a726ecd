package import PostriderNotifications

/// What the operator is told about a channel by its home.
package struct ChannelSummary: Sendable {
    /// The channel in the registry.
    package let record: ChannelRecord
    /// The broadcast that it stores for devices that connect later; nil if there is none.
    package let stored: Broadcast?

    /// The oldest of some channels, in order.
    package static func oldest(_ limit: Int, of channels: [ChannelSummary]) -> [ChannelSummary] {
        Array(
            channels.sorted {
                ($0.record.createdAt, $0.record.identity) < ($1.record.createdAt, $1.record.identity)
            }.prefix(limit))
    }
}
