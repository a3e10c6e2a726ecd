import PostriderNotifications

/// The events of devices, which get the devices' names here.
extension DeviceDirectory {
    /// Reports these events to followers, with the names of the devices.
    func take(_ events: [Control.DeviceEvent]) {
        if self.events.isFollowed { self.events.take(named(events)) }
    }

    /// Expects devices that were connected to another node to connect to this one.
    func expectReturns(of presences: [PresenceRecord]) {
        guard events.isObserved else { return }
        let departures = presences.filter(\.presence.isConnected).map { record in
            let presence = record.presence
            return Control.DeviceEvent(
                what: .away, at: context.now.milliseconds, identity: record.device.description, name: "",
                address: presence.address, agent: presence.agent,
                ending: DevicePresence.Ending.moved.rawValue)
        }
        if !departures.isEmpty { events.expectReturns(named(departures)) }
    }

    private func named(_ events: [Control.DeviceEvent]) -> [Control.DeviceEvent] {
        events.map { event in
            var event = event
            if let identity = DeviceIdentity(hex: event.identity), let entry = entries[identity] {
                event.name = entry.name.text
                event.tags = entry.label.tags.isEmpty ? nil : entry.label.tags.map(\.text)
            }
            return event
        }
    }
}
