package import PostriderNotifications

/// The apps of a device.
extension Device {
    /// The number of the valid registration of a topic.
    package func registration(of topic: Topic) -> RegistrationNumber? {
        registrations.first { $0.value.topic == topic && $0.value.unregisteredAt == nil }?.key
    }

    /// Whether it may have another registration, perhaps in place of a valid one. Tokens of ended registrations are
    /// answered with 410 for ever, so a device that makes thousands of them is refused too.
    package func hasRoomForRegistration(inPlaceOf old: RegistrationNumber?) -> Bool {
        let good = registrations.count { $0.value.unregisteredAt == nil && $0.key != old }
        return good < Limits.registrationsPerDevice
            && registrations.count < Limits.registrationsPerDevice * 16
    }

    /// The number for its next registration in an environment.
    package func nextRegistrationNumber(in environment: Environment) -> RegistrationNumber {
        let last = registrations.keys.last { $0.environment == environment }
        return RegistrationNumber((last?.ordinal ?? 0) + 1, in: environment)
    }

    /// Applies a registration, or the end of one, after the ledger has made it durable, or when it is read at start-up.
    /// Notifications of a registration that ended are dropped.
    package mutating func apply(_ record: RegistrationRecord, _ tally: inout Tally, _ effects: inout [Effect])
    {
        precondition(record.device == self.record.identity, "a registration belongs to its device")
        let known = registrations[record.number]
        registrations[record.number] = Registration(
            topic: record.topic,
            registeredAt: record.registeredAt,
            unregisteredAt: record.unregisteredAt,
            pending: known?.pending ?? 0,
            allowance: known?.allowance ?? PushAllowance(),
            filter: link?.reception.filter(of: record.topic) ?? .enabled,
            quotas: known?.quotas
        )
        if let known, let quotas = known.quotas,
            (known.unregisteredAt == nil) != (record.unregisteredAt == nil)
        {
            quotas.add(devices: record.unregisteredAt == nil ? 1 : -1)
        }
        guard let moment = record.unregisteredAt else { return }
        for row in queue.rows(where: { $0.registration == record.number }) {
            drop(row, .unregistered, answering: .rejected(.unregistered, since: moment), &tally, &effects)
        }
    }
}
