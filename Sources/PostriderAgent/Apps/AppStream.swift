import PostriderCourier
import PostriderNotifications

/// One Attach stream of an app, as the desk knows it: whose it is, and which rows of the inbox are under way on it.
///
/// Deliveries of a stream are numbered from 1 and at most ``Notifications/Limits/appWindow`` are under way, so
/// whatever is handed over a second time, on a later stream, is among the last so many of its topic.
final class AppStream {
    /// The user of the process at the other end, as the kernel says.
    let user: UInt32
    /// That process, when it connected; nil: it is not known.
    let process: Int32?

    /// Whether the app has ended the stream, or is gone, and only what it has called for is still to be worked off.
    var isLeaving = false

    /// Whether the app has been told on this stream what holds on the device.
    var isGreeted = false

    /// The topics of which the app decides how their alerts are presented.
    var decisions: Set<String> = []

    /// Since which nanosecond something is under way and the app has settled nothing; nil: nothing is under way.
    private(set) var busySince: UInt64?
    /// Whether it was found to be stuck: nothing more is handed over to it.
    var isStuck = false

    private let say: (AgentMessage) -> Void
    private let end: (GRPCStatus, String) -> Void
    private let countUnsent: () -> Int
    private var window = DeliveryWindow(size: Limits.appWindow)
    private var rows: [UInt64: Handover] = [:]
    private var rowsUnderWay: Set<Int64> = []

    /// What is under way to the app.
    struct Handover {
        let row: Int64
        let topic: String
        /// The push whose relay wants to know what becomes of it; nil: there is no such.
        let reported: ReportedPush?
    }

    /// A stream of a process of `user`, at the end of which `say` speaks.
    ///
    /// - Parameters:
    ///   - countUnsent: the bytes of what it has said that the app has not taken yet.
    ///   - end: ends it with a status and a sentence.
    init(
        user: UInt32, process: Int32? = nil, countUnsent: @escaping () -> Int = { 0 },
        end: @escaping (GRPCStatus, String) -> Void = { _, _ in }, say: @escaping (AgentMessage) -> Void
    ) {
        self.user = user
        self.process = process
        self.countUnsent = countUnsent
        self.end = end
        self.say = say
    }

    /// Whether the app takes what it is told, so that more may be.
    var isListening: Bool { countUnsent() < Limits.unsentBytesPerStream }

    /// Whether another delivery may be sent.
    var hasRoom: Bool { !isLeaving && !isStuck && window.hasRoom }

    /// Says anything but a delivery.
    func tell(_ message: AgentMessage) { say(message) }

    /// Ends the stream, which leaves the desk before this returns.
    func end(_ status: GRPCStatus, _ sentence: String) { end(status, sentence) }

    /// Sends what lies in a row, unless it is under way here already.
    func send(_ parcel: Parcel, from row: Int64, at now: UInt64) {
        guard !rowsUnderWay.contains(row), let number = window.advance() else { return }
        busySince = busySince ?? now
        rows[number] = Handover(row: row, topic: parcel.topic, reported: parcel.reported)
        rowsUnderWay.insert(row)
        say(parcel.message(number))
    }

    /// What is under way as a delivery; nil: nothing.
    func handover(of delivery: UInt64) -> Handover? { rows[delivery] }

    /// Whether what lies in a row is under way here.
    func isUnderWay(_ row: Int64) -> Bool { rowsUnderWay.contains(row) }

    /// What has been under way for longest.
    var oldestUnderWay: Handover? { rows.min { $0.key < $1.key }?.value }

    /// The rows of deliveries that the app is done with; nil when one of them is not under way.
    func settle(_ deliveries: [UInt64], at now: UInt64) -> [Handover]? {
        guard window.acknowledge(deliveries) == nil else { return nil }
        let settled = deliveries.compactMap { rows.removeValue(forKey: $0) }
        rowsUnderWay.subtract(settled.map(\.row))
        busySince = rows.isEmpty ? nil : now
        return settled
    }

    /// What the app is busy with; nil: nothing.
    func business(at now: UInt64) -> Business? {
        guard let busySince, let topic = oldestUnderWay?.topic else { return nil }
        let nanoseconds = now > busySince ? now - busySince : 0
        return Business(topic: topic, milliseconds: Int(nanoseconds / 1_000_000), count: rows.count)
    }
}

extension Deliver {
    /// The same notification as another delivery.
    func numbered(_ number: UInt64) -> Deliver {
        Deliver(
            delivery: number,
            identity: identity,
            topic: topic,
            payload: payload,
            priority: priority,
            expiration: expiration,
            collapseIdentifier: collapseIdentifier,
            pushType: pushType,
            acceptedAt: acceptedAt,
            channel: channel,
            replacedIdentity: replacedIdentity,
            receivedAt: receivedAt
        )
    }

    /// The same notification, which the device has had since this moment.
    func received(at moment: Moment) -> Deliver {
        Deliver(
            delivery: delivery, identity: identity, topic: topic, payload: payload, priority: priority,
            expiration: expiration, collapseIdentifier: collapseIdentifier, pushType: pushType,
            acceptedAt: acceptedAt, channel: channel, wantsReport: wantsReport,
            replacedIdentity: replacedIdentity, push: push, receivedAt: moment)
    }
}
