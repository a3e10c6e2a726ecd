import PostriderDeviceQueue
import PostriderNotifications

extension DeviceRules {
    /// The rules of a configuration.
    init(_ configuration: RelayConfiguration) {
        self.init()
        storage = configuration.fidelity.storage
        pushesPerSecond = configuration.pushesPerSecond
        // A device is recorded as seen once a day, so it may have been connected up to a day later.
        expiryMilliseconds = configuration.deviceExpiryDays.map {
            Int64($0) * 24 * 60 * 60 * 1000 + Limits.sightingMilliseconds
        }
        returnMilliseconds = configuration.returnMilliseconds
    }
}
