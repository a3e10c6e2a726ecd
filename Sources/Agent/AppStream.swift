import Courier
import Notifications

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

    /// The topics of which the app decides how their alerts are presented.
    var decisions: Set<String> = []

    private let say: (AgentMessage) -> Void
    private let countUnsent: () -> Int
    private var window = DeliveryWindow(size: Limits.appWindow)
    private var rows: [UInt64: Handover] = [:]
    private var rowsUnderWay: Set<Int64> = []

    /// What is under way to the app.
    struct Handover {
        let row: Int64
        let topic: String
        /// The push whose relay wants to know what becomes of it; nil: there is no such.
        let reported: NotificationIdentity?
    }

    /// A stream of a process of `user`, at the end of which `say` speaks.
    ///
    /// - Parameter countUnsent: the bytes of what it has said that the app has not taken yet.
    init(
        user: UInt32, process: Int32? = nil, countUnsent: @escaping () -> Int = { 0 },
        say: @escaping (AgentMessage) -> Void
    ) {
        self.user = user
        self.process = process
        self.countUnsent = countUnsent
        self.say = say
    }

    /// Whether the app takes what it is told, so that more may be.
    var isListening: Bool { countUnsent() < Limits.unsentBytesPerStream }

    /// Whether another delivery may be sent.
    var hasRoom: Bool { !isLeaving && window.hasRoom }

    /// Says anything but a delivery.
    func tell(_ message: AgentMessage) { say(message) }

    /// Sends what lies in a row, unless it is under way here already.
    func send(_ parcel: Parcel, from row: Int64) {
        guard !rowsUnderWay.contains(row), let number = window.advance() else { return }
        rows[number] = Handover(row: row, topic: parcel.topic, reported: parcel.reported)
        rowsUnderWay.insert(row)
        say(parcel.message(number))
    }

    /// Whether what lies in a row is under way here.
    func isUnderWay(_ row: Int64) -> Bool { rowsUnderWay.contains(row) }

    /// What has been under way for longest.
    var oldestUnderWay: Handover? { rows.min { $0.key < $1.key }?.value }

    /// The rows of deliveries that the app is done with; nil when one of them is not under way.
    func settle(_ deliveries: [UInt64]) -> [Handover]? {
        guard window.acknowledge(deliveries) == nil else { return nil }
        let settled = deliveries.compactMap { rows.removeValue(forKey: $0) }
        rowsUnderWay.subtract(settled.map(\.row))
        return settled
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
            channel: channel
        )
    }
}
