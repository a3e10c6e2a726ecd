import PostriderNotifications

/// What the ``DeviceDirectory`` knows of a device.
struct DirectoryEntry: Sendable {
    /// The name that comes nearest to what the device calls itself.
    let base: DeviceName
    let enrolledAt: Moment
    var label: DeviceLabel

    init(_ record: DeviceRecord, _ label: DeviceLabel) {
        base = DeviceName(of: record.identity, calledItself: record.name)
        enrolledAt = record.enrolledAt
        self.label = label
    }

    /// Its name: the directory gives every device one.
    var name: DeviceName { label.name ?? base }
}
