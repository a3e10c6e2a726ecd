import PostriderCourier
import PostriderNotifications

/// All devices return at once, and the relay lets them in one after the other.
extension World {
    /// Every link is cut, and every device is back at once.
    func storm() {
        for client in clients where devices.contains(where: { $0.session?.endpoint === client.session }) {
            cut(client)
        }
        endClientTurns()
        returnAll()
    }

    /// Whoever has no link connects, unless it was told to come back later.
    func returnAll() {
        for device in devices where mayReturn(device) { connect(device) }
    }

    func mayReturn(_ device: SimulatedDevice) -> Bool {
        device.session == nil && !isAway(device) && device.returnsAt <= clock.milliseconds
    }

    /// A device is told when to come back: it was not let in, or what it asked for cannot be done now.
    func noteDeferral(of device: SimulatedDevice, byMilliseconds wait: UInt32) {
        device.returnsAt = clock.milliseconds + Int64(wait)
        let bounds = relay.bounds.slotMilliseconds
        findings.expect(
            (bounds.least...bounds.most).contains(Int(wait)), .bounds,
            "device \(device.index) is told to come back after \(wait) ms")
    }
}
