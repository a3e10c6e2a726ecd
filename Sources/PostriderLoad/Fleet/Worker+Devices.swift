import PostriderCourier
import PostriderNotifications
import PostriderTransport

/// What a worker's devices tell it.
extension Worker {
    private static let lostAtOnce = 10

    /// The greeter connects a device, and says so.
    func connect(_ device: FleetDevice) {
        guard let greeter else { return }
        precondition(greeter.post(.connect(device: device.index)), "bug: a device connects twice")
    }

    /// Devices lose their links: the order is obeyed when the last has.
    func cut(_ devices: ArraySlice<FleetDevice>) {
        losing = devices.reversed()
        lose()
    }

    /// Cuts devices off, some at a time: pushes are to leave when they are due meanwhile.
    private func lose() {
        for device in losing.suffix(Self.lostAtOnce) { device.lose() }
        losing.removeLast(min(losing.count, Self.lostAtOnce))
        guard losing.isEmpty else {
            let timer = loser ?? loop.makeTimer { [unowned self] in lose() }
            loser = timer
            return timer.arm(afterMilliseconds: 1)
        }
        loser = nil
        obeyed += 1
    }

    func deviceReady(_ device: FleetDevice) { readyCount += 1 }

    func deviceEnded(_ device: FleetDevice, wasReady: Bool, _ reason: CloseReason, goodbye: Goodbye?) {
        if wasReady {
            readyCount -= 1
            haveLinksEnded = true
        }
        guard device.isWanted, reason != .localClose || goodbye != nil else { return }
        let words = goodbye.map { "goodbye: \($0.reason)" } ?? reason.description
        if wasReady {
            tally.lostLinks.countReason(words)
        } else {
            tally.failures.countReason(words)
            if !hasReachedDevicePort, tally.failures[words, default: 0] >= 3 {
                fail(
                    "Devices cannot connect to \(setup.target.devices?.address.description ?? "?"): \(words)."
                )
            }
        }
    }

    /// Nothing that was now or never is waited for at a link that has ended.
    func excuse() {
        guard haveLinksEnded else { return }
        haveLinksEnded = false
        needsPump = true
        book.excuse { device, moment in devices[device].lostLinkAt >= moment }
    }

    func enrolmentFailed(_ status: GRPCStatus, _ message: String) {
        switch status {
        case .unavailable, .resourceExhausted: tally.failures.countReason("enrolment: \(status)")
        default: fail("The relay enrols no device: \(message) (\(status)).")
        }
    }

    /// A link ended in a way that nobody should see.
    func linkBroken(_ sentence: String) { tally.lostLinks.countReason(sentence) }

    /// A notification came to a device.
    func arrived(_ outline: DeliverView, _ message: Span<UInt8>, at device: FleetDevice) {
        guard let mark = PushMark(outline.identity), mark.run == setup.mark || outline.isBroadcast else {
            tally.strayed += 1
            return
        }
        if !isPayload(message.extracting(outline.payload)) { tally.altered += 1 }
        guard !outline.isBroadcast else { return arrivedBroadcast(mark, at: device) }
        let arrival = book.arrived(mark.number, at: mark.device == device.index ? device.index : -1)
        switch device.judge(arrival, mark.number) {
        case nil:
            tally.delivered += 1
            measureDelivery(of: mark)
            needsPump = true
        case .repeated: tally.repeated += 1
        case .doubled: tally.doubled += 1
        case .strayed: tally.strayed += 1
        }
    }

    private func arrivedBroadcast(_ mark: PushMark, at device: FleetDevice) {
        guard device.takeBroadcast(mark.number) else {
            tally.doubled += 1
            return
        }
        tally.broadcastsDelivered += 1
        measureDelivery(of: mark)
    }

    /// Whether a payload is what this worker sends. One from before a change of the payload counts as well.
    private func isPayload(_ bytes: Span<UInt8>) -> Bool {
        let payload = self.payload
        guard bytes.count == payload.count else { return Self.isWhole(bytes) }
        for index in bytes.indices where bytes[index] != payload[index] { return false }
        return true
    }

    private static func isWhole(_ bytes: Span<UInt8>) -> Bool {
        let payload = payload(bytes: bytes.count)
        for index in bytes.indices where bytes[index] != payload[index] { return false }
        return payload.count == bytes.count
    }
}
