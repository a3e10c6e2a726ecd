import PostriderNotifications
import Testing

@testable import PostriderDeviceQueue

/// The conditions that must hold at the end.
extension DeviceWorld {
    /// Expects that every push has one answer and that no push with a 200 is lost.
    func check() {
        for (number, push) in pushes {
            guard let verdict = push.answers.first else {
                let survived = push.isRestored
                #expect(survived, "push \(number) is never answered")
                continue
            }
            if verdict == .accepted {
                #expect(isSettledRightly(number), "push \(number) was promised and is lost")
            }
        }
    }

    /// Whether, at the moment of a 200, the push or its replacement is on the disk or with the device, or need not
    /// be.
    func isKept(_ number: Int64) -> Bool {
        isSettledRightly(number) || stands(for: number) { $0.isStored }
    }

    private func isSettledRightly(_ number: Int64) -> Bool {
        guard let notification = pushes[number]?.notification else { return false }
        guard case .at(let moment) = notification.expiration, moment > now else { return true }
        if let registration = device.registrations[notification.registration],
            registration.unregisteredAt != nil
        {
            return true
        }
        return stands(for: number) { push in
            guard !push.isAcknowledged, case .at(let moment) = push.notification.expiration else {
                return true
            }
            return moment <= now
        }
    }

    /// Whether a condition holds for the push, for a later one in its slot, or for the earlier one that it repeats.
    private func stands(for number: Int64, _ condition: (Push) -> Bool) -> Bool {
        guard let push = pushes[number] else { return false }
        if condition(push) { return true }
        let slot = push.notification.slot(rules.storage)
        return pushes.contains { other, push in
            guard other != number, push.notification.slot(rules.storage) == slot else { return false }
            if case .identity = slot { return condition(push) }
            return other > number && condition(push)
        }
    }
}
