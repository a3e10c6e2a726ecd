import PostriderCourier
import PostriderNotifications

/// One Attach stream of an app, as the router sees it: its user, and the rows of the inbox that are under way on it.
///
/// Deliveries of a stream are numbered from 1, and at most ``Notifications/Limits/appWindow`` are under way. So a
/// delivery that is repeated on a later stream is among the last of its topic, as many as this limit.
final class AppStream {
    /// The user of the process at the other end, as the kernel says.
    let user: UInt32
    /// The process that connected; nil if it is unknown.
    let process: Int32?

    /// Whether it is the stream of a topic's handler, and not of an app.
    let isHandler: Bool

    /// Whether the app has ended the stream or is gone, and only its last calls remain to be processed.
    var isLeaving = false

    /// Whether the app has been told the state of the device on this stream.
    var isGreeted = false

    /// The topics whose alerts the app decides about.
    var decisions: Set<String> = []

    /// The nanosecond since which deliveries are under way without one being settled; nil if none is under way.
    private(set) var busySince: UInt64?
    /// Whether the app was found to be stuck: it gets nothing more.
    var isStuck = false

    private let say: (AgentMessage) -> Void
    private let end: (GRPCStatus, String) -> Void
    private let countUnsent: () -> Int
    private var window = DeliveryWindow(size: Limits.appWindow)
    private var rows: [UInt64: Handover] = [:]
    private var rowsUnderWay: Set<Int64> = []

    /// A delivery that is under way.
    struct Handover {
        let row: Int64
        let topic: String
        /// The push to report about; nil if the relay did not ask for reports.
        let reported: ReportedPush?
        /// When it was sent to the app, in monotonic nanoseconds.
        let sentAt: UInt64

        /// For how many milliseconds the app has had it.
        func milliseconds(until now: UInt64) -> UInt64 { now > sentAt ? (now - sentAt) / 1_000_000 : 0 }
    }

    /// A stream of a process of `user`. `say` sends a message to the app.
    ///
    /// - Parameters:
    ///   - countUnsent: how many bytes wait to be sent to the app.
    ///   - end: ends the stream with a status and a sentence.
    init(
        user: UInt32, process: Int32? = nil, isHandler: Bool = false,
        countUnsent: @escaping () -> Int = { 0 },
        end: @escaping (GRPCStatus, String) -> Void = { _, _ in }, say: @escaping (AgentMessage) -> Void
    ) {
        self.user = user
        self.process = process
        self.isHandler = isHandler
        self.countUnsent = countUnsent
        self.end = end
        self.say = say
    }

    /// Whether the app reads what it is sent, so that more may be sent.
    var isListening: Bool { countUnsent() < Limits.unsentBytesPerStream }

    /// Whether another delivery may be sent.
    var hasRoom: Bool { !isLeaving && !isStuck && window.hasRoom }

    /// Sends any message but a delivery.
    func tell(_ message: AgentMessage) { say(message) }

    /// Ends the stream. The router is told before this returns.
    func end(_ status: GRPCStatus, _ sentence: String) { end(status, sentence) }

    /// Sends what a row of the inbox holds, unless it is under way here already.
    func send(_ parcel: InboxContent, from row: Int64, at now: UInt64) {
        guard !rowsUnderWay.contains(row), let number = window.advance() else { return }
        busySince = busySince ?? now
        rows[number] = Handover(row: row, topic: parcel.topic, reported: parcel.reported, sentAt: now)
        rowsUnderWay.insert(row)
        say(parcel.message(number))
    }

    /// The delivery of this number; nil if it is not under way.
    func handover(of delivery: UInt64) -> Handover? { rows[delivery] }

    /// Whether a row is under way here.
    func isUnderWay(_ row: Int64) -> Bool { rowsUnderWay.contains(row) }

    /// The delivery that has been under way for longest.
    var oldestUnderWay: Handover? { rows.min { $0.key < $1.key }?.value }

    /// Settles deliveries and returns their rows; nil if one of them is not under way.
    func settle(_ deliveries: [UInt64], at now: UInt64) -> [Handover]? {
        guard window.acknowledge(deliveries) == nil else { return nil }
        let settled = deliveries.compactMap { rows.removeValue(forKey: $0) }
        rowsUnderWay.subtract(settled.map(\.row))
        busySince = rows.isEmpty ? nil : now
        return settled
    }

    /// What the app has been busy with; nil if nothing is under way.
    func business(at now: UInt64) -> Business? {
        guard let busySince, let topic = oldestUnderWay?.topic else { return nil }
        let nanoseconds = now > busySince ? now - busySince : 0
        return Business(topic: topic, milliseconds: Int(nanoseconds / 1_000_000), count: rows.count)
    }
}

extension Deliver {
    /// The same notification with another delivery number.
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
            receivedAt: receivedAt,
            traceContext: traceContext
        )
    }

    /// The same notification with the moment at which the device received it.
    func received(at moment: Moment) -> Deliver {
        Deliver(
            delivery: delivery, identity: identity, topic: topic, payload: payload, priority: priority,
            expiration: expiration, collapseIdentifier: collapseIdentifier, pushType: pushType,
            acceptedAt: acceptedAt, channel: channel, wantsReport: wantsReport,
            replacedIdentity: replacedIdentity, push: push, receivedAt: moment,
            traceContext: traceContext)
    }
}
