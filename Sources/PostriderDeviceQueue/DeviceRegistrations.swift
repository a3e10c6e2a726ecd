package import PostriderNotifications

/// One app on a device.
package struct DeviceRegistration {
    package let topic: Topic
    package let registeredAt: Moment
    /// When its token became invalid; nil while it is valid.
    package internal(set) var unregisteredAt: Moment?
    /// How many notifications are pending for it.
    var pending = 0
    /// How many more pushes it may get now.
    var allowance = PushAllowance()
    /// The device's preference for the app.
    var filter = Filter.enabled
    /// The quotas that it counts for; nil for none.
    package internal(set) var quotas: TopicQuotas?
}

/// The apps of a device, in the order of their numbers: which tokens are valid, how many pushes each may still get, and
/// how many notifications are pending for it. Each adds its pending notifications to the quotas of its topic, and 1 to
/// their devices while its token is valid.
package struct DeviceRegistrations: RandomAccessCollection {
    private var table = SortedTable<RegistrationNumber, DeviceRegistration>()

    /// The numbers, in order.
    package var keys: [RegistrationNumber] { table.keys }
    /// The registrations, in the order of their numbers.
    package var values: [DeviceRegistration] { table.values }

    package var startIndex: Int { table.startIndex }
    package var endIndex: Int { table.endIndex }
    package subscript(place: Int) -> (key: RegistrationNumber, value: DeviceRegistration) { table[place] }

    /// The registration with a number.
    package subscript(number: RegistrationNumber) -> DeviceRegistration? { table[number] }

    // MARK: Validity

    /// The number of the valid registration of a topic.
    package func number(of topic: Topic) -> RegistrationNumber? {
        first { $0.value.topic == topic && $0.value.unregisteredAt == nil }?.key
    }

    /// Whether the device may have another registration, perhaps in place of a valid one. Tokens of ended registrations
    /// are answered with 410 for ever, so a device that makes thousands of them is refused too.
    package func hasRoom(inPlaceOf old: RegistrationNumber?) -> Bool {
        let good = self.count { $0.value.unregisteredAt == nil && $0.key != old }
        return good < Limits.registrationsPerDevice && count < Limits.registrationsPerDevice * 16
    }

    /// The number for the next registration in an environment.
    package func nextNumber(in environment: Environment) -> RegistrationNumber {
        let last = keys.last { $0.environment == environment }
        return RegistrationNumber((last?.ordinal ?? 0) + 1, in: environment)
    }

    /// Adds or changes a registration. The device has said the preference `filter` for its app.
    mutating func apply(_ record: RegistrationRecord, _ filter: Filter) {
        let known = table[record.number]
        table[record.number] = DeviceRegistration(
            topic: record.topic,
            registeredAt: record.registeredAt,
            unregisteredAt: record.unregisteredAt,
            pending: known?.pending ?? 0,
            allowance: known?.allowance ?? PushAllowance(),
            filter: filter,
            quotas: known?.quotas
        )
        if let known, let quotas = known.quotas,
            (known.unregisteredAt == nil) != (record.unregisteredAt == nil)
        {
            quotas.add(devices: record.unregisteredAt == nil ? 1 : -1)
        }
    }

    /// Why a push is refused; nil if it is not, and then it is counted.
    ///
    /// - Parameter expiresAt: when the device's tokens expire unless it returns; nil if they do not.
    mutating func refusal(
        of notification: Notification, now: Moment, expiresAt: Moment?, pushesPerSecond: Int?
    ) -> PushResult? {
        guard let place = table.place(of: notification.registration) else {
            return .rejected(.badDeviceToken)
        }
        let registration = table.values[place]
        guard registration.topic == notification.topic else { return .rejected(.deviceTokenNotForTopic) }
        if let moment = registration.unregisteredAt { return .rejected(.unregistered, since: moment) }
        if let expiresAt, expiresAt <= now { return .rejected(.expiredToken, since: expiresAt) }
        if let quotas = registration.quotas, !quotas.hasRoomForPending() {
            return .rejected(.tooManyRequests)
        }
        guard let rate = pushesPerSecond else { return nil }
        let isInTime = table.update(at: place) { $0.allowance.take(now: now, perSecond: rate) }
        return isInTime ? nil : .rejected(.tooManyRequests)
    }

    // MARK: Preferences

    /// Stores the device's preferences for its apps.
    mutating func setFilters(by reception: LinkReception) {
        // Most devices have no preferences, so there is mostly nothing to change.
        guard !reception.filters.isEmpty || values.contains(where: { $0.filter != .enabled }) else { return }
        for place in table.indices {
            table.update(at: place) { $0.filter = reception.filter(of: $0.topic) }
        }
    }

    // MARK: Counts

    /// Whether as many notifications are pending for a registration as are allowed.
    func isFull(_ number: RegistrationNumber) -> Bool {
        guard let place = table.place(of: number) else { return false }
        return table.values[place].pending >= Limits.pendingPerRegistration
    }

    /// Changes the number of notifications that are pending for a registration.
    mutating func count(_ change: Int, pendingFor number: RegistrationNumber) {
        guard let place = table.place(of: number) else { return }
        table.update(at: place) { registration in
            registration.pending += change
            registration.quotas?.add(pending: change)
        }
    }

    /// Counts a registration for these quotas from now on, and no longer for those before.
    ///
    /// - Parameter found: notifications of it that were on the disk at start-up and are not in the queue yet.
    mutating func charge(_ number: RegistrationNumber, to quotas: TopicQuotas?, besides found: Int) {
        guard let place = table.place(of: number), table.values[place].quotas !== quotas else { return }
        let registration = table.values[place]
        let devices = registration.unregisteredAt == nil ? 1 : 0
        registration.quotas?.add(pending: -registration.pending - found)
        registration.quotas?.add(devices: -devices)
        quotas?.add(pending: registration.pending + found)
        quotas?.add(devices: devices)
        table.update(at: place) { $0.quotas = quotas }
    }

    /// Notifications that were on the disk at start-up are not counted any more: they are being restored or removed.
    package func discharge(_ found: [QueueEntry]) {
        for entry in found { table[entry.registration]?.quotas?.add(pending: -1) }
    }
}
