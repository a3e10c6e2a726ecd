import PostriderNotifications
import PostriderRules

/// What rules are still to do to devices of a relay for tests, and which devices they keep away.
struct PlannedEffects {
    /// A push to one device: providers may use an `apns-id` for several devices.
    private struct Key: Hashable {
        let device: DeviceIdentity
        let notification: NotificationIdentity
    }

    private var planned: [Key: DeviceEffect] = [:]
    private var plannedInOrder: [Key] = []
    /// Until when devices are kept away.
    private var absences: [DeviceIdentity: Moment] = [:]
    private var absencesInOrder: [DeviceIdentity] = []

    /// Remembers an effect until the delivery of the push. An absence begins now.
    mutating func plan(_ effect: DeviceEffect, for notification: Notification, at now: Moment) {
        if case .offline(let milliseconds) = effect {
            keepAway(notification.device, until: now.advanced(byMilliseconds: Int64(milliseconds)))
        }
        let key = Key(device: notification.device, notification: notification.identity)
        if planned.updateValue(effect, forKey: key) == nil { plannedInOrder.append(key) }
        guard plannedInOrder.count > Limits.disturbedDevices else { return }
        planned[plannedInOrder.removeFirst()] = nil
    }

    private mutating func keepAway(_ device: DeviceIdentity, until end: Moment) {
        if absences.updateValue(end, forKey: device) == nil { absencesInOrder.append(device) }
        if absencesInOrder.count > Limits.disturbedDevices { absences[absencesInOrder.removeFirst()] = nil }
    }

    /// Whether an absence is planned for the push. Returns true once.
    mutating func takeAbsence(with notification: Notification) -> Bool {
        guard !planned.isEmpty else { return false }
        let key = Key(device: notification.device, notification: notification.identity)
        guard case .offline = planned[key] else { return false }
        forget(key)
        return true
    }

    /// For how many more milliseconds a device is kept away; nil if it is not.
    mutating func absenceLeft(of device: DeviceIdentity, at now: Moment) -> UInt32? {
        guard let end = absences[device] else { return nil }
        let left = end.milliseconds - now.milliseconds
        guard left <= 0 else { return UInt32(clamping: left) }
        absences[device] = nil
        absencesInOrder.removeAll { $0 == device }
        return nil
    }

    /// The effect on a delivery that is written now; nil if none is planned. It is forgotten with that.
    mutating func takeEffect(on notification: Notification) -> DeviceEffect? {
        guard !planned.isEmpty else { return nil }
        let key = Key(device: notification.device, notification: notification.identity)
        guard let effect = planned[key] else { return nil }
        forget(key)
        return effect
    }

    private mutating func forget(_ key: Key) {
        planned[key] = nil
        plannedInOrder.removeAll { $0 == key }
    }
}
