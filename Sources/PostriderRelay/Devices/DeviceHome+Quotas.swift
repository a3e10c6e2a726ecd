import PostriderDeviceQueue
import PostriderNotifications

/// Counting devices and what waits for them for the quotas of their topics.
extension DeviceHome {
    /// The quotas, or the teams of topics, may have changed: counts every device anew.
    func chargeAll() {
        for entry in entries.values { charge(entry) }
    }

    /// Counts the registrations of a device for the quotas of their topics.
    func charge(_ entry: DeviceEntry) {
        var found: [RegistrationNumber: Int] = [:]
        for queued in entry.found { found[queued.registration, default: 0] += 1 }
        for (number, registration) in zip(entry.device.registrations.keys, entry.device.registrations.values)
        {
            let quotas = context.quotas(of: registration.topic)
            guard registration.quotas !== quotas else { continue }
            entry.device.charge(number, to: quotas, besides: found[number] ?? 0)
        }
    }
}
