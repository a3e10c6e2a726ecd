import PostriderCourier
import PostriderNotifications

/// Judges and counts the outcomes of a worker's pushes: answers to its providers, arrivals at its devices.
final class PushOutcomes {
    private let meter: WorkerMeter
    /// Tells the pushes of this worker from those of others; 12 bits.
    private let run: UInt16
    /// Whether pushes of other senders are expected. Otherwise they count as strayed.
    private let takesOthers: Bool
    /// What has happened to each push.
    var tracker = PushTracker()
    /// The payload that pushes carry at present.
    var payload: [UInt8] = []
    /// Broadcasts that are still to be sent or answered.
    var broadcastsLeft = 0
    /// Whether something has happened that may let the next push leave.
    var mayPush = false

    init(_ meter: WorkerMeter, run: UInt16, takesOthers: Bool = false) {
        self.meter = meter
        self.run = run
        self.takesOthers = takesOthers
    }

    // MARK: Answers

    /// A provider was answered with 200.
    func accepted(_ exchange: FleetProviderConnection.Exchange) {
        mayPush = true
        switch exchange {
        case .push(let number):
            meter.tally.accepted += 1
            if let moment = tracker.moment(of: number) { meter.measureAcceptance(since: moment) }
            tracker.accepted(number)
        case .broadcast(let moment):
            meter.tally.broadcasts += 1
            broadcastsLeft -= 1
            meter.measureAcceptance(since: moment)
        }
    }

    /// A provider was answered with another status.
    func refused(_ exchange: FleetProviderConnection.Exchange, _ reason: String) {
        mayPush = true
        meter.tally.refused.countReason(reason)
        switch exchange {
        case .push(let number): tracker.refused(number)
        case .broadcast: broadcastsLeft -= 1
        }
    }

    /// The connection ended before the answer.
    func unanswered(_ exchange: FleetProviderConnection.Exchange) {
        mayPush = true
        meter.tally.unanswered += 1
        switch exchange {
        case .push(let number): tracker.unanswered(number)
        case .broadcast: broadcastsLeft -= 1
        }
    }

    // MARK: Arrivals

    /// A notification came to a device. Returns false if it is an expected one of another sender.
    func arrived(_ view: DeliverView, _ message: Span<UInt8>, at device: FleetDevice) -> Bool {
        guard let mark = PushMark(view.identity), mark.run == run || view.isBroadcast else {
            return strayed()
        }
        let arrival =
            view.isBroadcast
            ? .first : tracker.arrived(mark.number, at: mark.device == device.index ? device.index : -1)
        if arrival == .stray, takesOthers { return strayed() }
        if !isPayload(message.extracting(view.payload)) { meter.tally.altered += 1 }
        guard !view.isBroadcast else {
            arrivedBroadcast(mark, at: device)
            return true
        }
        switch device.judge(arrival, mark.number) {
        case nil:
            meter.tally.delivered += 1
            meter.measureDelivery(of: mark)
            mayPush = true
        case .repeated: meter.tally.repeated += 1
        case .doubled: meter.tally.doubled += 1
        case .strayed: meter.tally.strayed += 1
        }
        return true
    }

    private func strayed() -> Bool {
        if takesOthers { meter.tally.others += 1 } else { meter.tally.strayed += 1 }
        return !takesOthers
    }

    private func arrivedBroadcast(_ mark: PushMark, at device: FleetDevice) {
        guard device.takeBroadcast(mark.number) else {
            meter.tally.doubled += 1
            return
        }
        meter.tally.broadcastsDelivered += 1
        meter.measureDelivery(of: mark)
    }

    /// Whether a payload is one that this worker sends. The payload before the last change counts as well.
    private func isPayload(_ bytes: Span<UInt8>) -> Bool {
        let payload = self.payload
        guard bytes.count == payload.count else { return Self.isWhole(bytes) }
        for index in bytes.indices where bytes[index] != payload[index] { return false }
        return true
    }

    private static func isWhole(_ bytes: Span<UInt8>) -> Bool {
        let payload = makePayload(bytes: bytes.count)
        for index in bytes.indices where bytes[index] != payload[index] { return false }
        return payload.count == bytes.count
    }

    /// A JSON object of exactly this many bytes.
    static func makePayload(bytes: Int) -> [UInt8] {
        let (head, tail) = (Array(#"{"aps":{"alert":""#.utf8), Array(#""}}"#.utf8))
        let letters = (0..<max(0, bytes - head.count - tail.count)).map { UInt8(ascii: "a") + UInt8($0 % 26) }
        return head + letters + tail
    }
}
