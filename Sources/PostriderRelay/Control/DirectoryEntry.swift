import PostriderNotifications

/// The directory's entry of a device (``DeviceDirectory``).
struct DirectoryEntry: Sendable {
    /// The name that is closest to what the device calls itself.
    let base: DeviceName
    let enrolledAt: Moment
    var label: DeviceLabel

    init(_ record: DeviceRecord, _ label: DeviceLabel) {
        base = DeviceName(of: record.identity, calledItself: record.name)
        enrolledAt = record.enrolledAt
        self.label = label
    }

    /// The device's name; the directory gives one to every device.
    var name: DeviceName { label.name ?? base }
}
