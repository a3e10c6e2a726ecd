package import PostriderNotifications

/// Counting for quotas. Each registration adds its pending notifications to the quotas of its topic, and 1 to their
/// devices while its token is valid.
extension Device {
    /// Counts a registration for these quotas from now on, and no longer for those before.
    ///
    /// - Parameter found: notifications of it that were on the disk at start-up and are not in the queue yet.
    package mutating func charge(_ number: RegistrationNumber, to quotas: TopicQuotas?, besides found: Int) {
        guard let registration = registrations[number], registration.quotas !== quotas else { return }
        let devices = registration.unregisteredAt == nil ? 1 : 0
        registration.quotas?.add(pending: -registration.pending - found)
        registration.quotas?.add(devices: -devices)
        quotas?.add(pending: registration.pending + found)
        quotas?.add(devices: devices)
        registrations[number]?.quotas = quotas
    }

    /// Notifications that were on the disk at start-up are not counted any more: they are being restored or removed.
    package func discharge(_ found: [QueueEntry]) {
        for entry in found { registrations[entry.registration]?.quotas?.add(pending: -1) }
    }
}
