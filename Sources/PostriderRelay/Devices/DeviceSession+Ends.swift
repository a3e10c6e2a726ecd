import PostriderCourier
import PostriderDeviceQueue
import PostriderNotifications

/// The ends of a device's link that the relay brings about, or answers.
extension DeviceSession {
    /// Seconds that a device has, after the relay's goodbye, to acknowledge what is under way.
    private static let farewellSeconds: UInt32 = 2
    /// Seconds that a device has to end a stream that the relay has ended.
    private static let endingSeconds: UInt32 = 5

    /// Says goodbye and ends the link. The device keeps its pending notifications and comes back.
    ///
    /// Unless the device is at fault, the link stays open for a moment until everything under way is acknowledged, so
    /// that it need not be delivered again. That also helps devices with grpcio's asyncio: if one of their
    /// acknowledgements meets the end of the stream, they lose the goodbye and the status.
    ///
    /// - Parameter status: the status with which the stream ends; nil for the one that belongs to the reason.
    func leave(
        _ reason: Goodbye.Reason, retryAfterMilliseconds: UInt32 = 0, _ detail: String,
        with status: GRPCStatus? = nil
    ) {
        ending = ending ?? DevicePresence.Ending(ofRelay: reason)
        if let goodbye = link.goodbye(reason, retryAfterMilliseconds: retryAfterMilliseconds, detail: detail)
        {
            say(.goodbye(goodbye))
        }
        switch reason {
        case .shutdown, .overloaded:
            guard case .open = stage, let entry = currentEntry, entry.device.outstandingCount > 0 else {
                return end(reason.status, detail)
            }
            stage = .farewell(reason.status, detail)
            entry.device.closing()
            arm(seconds: Self.farewellSeconds)
        case .replaced, .duplicated, .removed, .protocolError, .unspecified, .asleep:
            end(status ?? reason.status, detail)
        }
    }

    /// Ends the link's stream with a status. The connection ends when the device has ended the stream too, or after
    /// ``endingSeconds``.
    func end(_ status: GRPCStatus, _ message: String) {
        guard !carrier.isMissing, !isEnding else { return }
        stage = .ending
        carrier.finish(status, message)
        connections.left(self)
        if carrier.edge == nil { arm(seconds: Self.endingSeconds) } else { retire() }
    }

    /// Ends the link with the status of the relay's goodbye, or with OK if the device has said goodbye.
    func endAsSaid() {
        guard case .farewell(let status, let detail) = stage else { return end(.ok, "") }
        end(status, detail)
    }

    /// Cuts the connection. Nothing follows what was sent before.
    func cut(isOrderly: Bool) {
        stage = .ending
        ending = .cut
        carrier.cut(isOrderly: isOrderly)
    }
}
