import PostriderCourier
import PostriderDeviceQueue
import PostriderNotifications

/// What the messages of a device ask for.
extension DeviceConnections {
    /// Carries out what a message asks for.
    func perform(_ event: RelayLink.Event, of session: DeviceSession) throws(CourierError) {
        switch event {
        case .hello(let hello): greet(session, hello)
        case .register(let topic, let environment):
            registrations.ask(.register(topic, environment), by: session)
        case .registerWebPush(let wish): registrations.ask(.registerWebPush(wish), by: session)
        case .unregister(let topic): registrations.ask(.unregister(topic), by: session)
        case .subscribe(let subscribe): registrations.ask(.subscribe(subscribe), by: session)
        case .unsubscribe(let channel): registrations.ask(.unsubscribe(channel), by: session)
        case .reception, .fetch, .acknowledged, .reported:
            if let entry = session.currentEntry { try perform(event, of: session, at: entry) }
        case .goodbye(let goodbye):
            session.ending = session.ending ?? (goodbye.reason == .asleep ? .asleep : .goodbye)
            session.endAsSaid()
        }
    }

    private func perform(
        _ event: RelayLink.Event, of session: DeviceSession, at entry: DeviceEntry
    ) throws(CourierError) {
        switch event {
        case .reception(let reception):
            entry.note(reception)
            home.with(entry) { device, now, tally, effects in
                device.receive(by: reception, now: now, &tally, &effects)
            }
        case .fetch:
            home.with(entry) { device, now, tally, effects in device.fetch(now: now, &tally, &effects) }
        case .acknowledged(let deliveries):
            let due = linkEffects?.postponing(deliveries, of: session) ?? deliveries
            if let stranger = home.acknowledged(due, by: entry) {
                throw session.link.refuse(acknowledgementOf: stranger)
            }
            if case .farewell = session.stage, entry.device.outstandingCount == 0 { session.endAsSaid() }
        case .reported(let report): home.reported(report, by: entry)
        case .hello, .register, .registerWebPush, .unregister, .subscribe, .unsubscribe, .goodbye: break
        }
    }
}
