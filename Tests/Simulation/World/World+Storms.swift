import PostriderCourier
import PostriderNotifications

/// Reconnect storms: all devices return at once, and the relay accepts them one after the other.
extension World {
    /// Cuts every link and lets every device return at once.
    func storm() {
        for client in clients where devices.contains(where: { $0.session?.endpoint === client.session }) {
            cut(client)
        }
        endClientTurns()
        returnAll()
    }

    /// Connects every device and browser without a link, unless it was asked to come back later.
    func returnAll() {
        for device in devices where mayReturn(device) { connect(device) }
        for browser in web.browsers where browser.session == nil { connect(browser) }
    }

    func mayReturn(_ device: SimulatedDevice) -> Bool {
        device.session == nil && !isAway(device) && device.returnsAt <= clock.milliseconds
    }

    /// Records when a device may come back: it was not accepted, or its request is impossible now.
    func noteDeferral(of device: SimulatedDevice, byMilliseconds wait: UInt32) {
        device.returnsAt = clock.milliseconds + Int64(wait)
        let bounds = relay.bounds.slotMilliseconds
        findings.expect(
            (bounds.least...bounds.most).contains(Int(wait)), .bounds,
            "device \(device.index) is told to come back after \(wait) ms")
    }
}
