import PostriderNotifications
import PostriderTransport

/// The last events of this node's devices, for other nodes of the cluster whose operators follow them. Events are kept
/// only while another node asks, and so many that memory is bounded whatever a reader does.
final class DeviceEventLog {
    /// What another node is told.
    struct Part: Codable {
        /// The events after the cursor that was asked for, in their order.
        var events: [Control.DeviceEvent] = []
        /// Where the next part begins.
        var cursor: String
        /// Whether events are lost between the cursor that was asked for and these.
        var hasGap = false
        /// Whether further events are here.
        var hasMore = false
    }

    private let context: ShardContext
    private let exchange: PresenceExchange
    /// The number by which cursors of this log are told from those of an earlier one; nil while nothing is kept.
    private var name: UInt64?
    private var events: [Control.DeviceEvent] = []
    /// The number of the first event that is kept.
    private var first: UInt64 = 0
    private lazy var timer = context.scheduler.makeTimer { [unowned self] in forget() }

    init(_ context: ShardContext, _ exchange: PresenceExchange) {
        self.context = context
        self.exchange = exchange
    }

    /// Whether events are kept.
    var isKept: Bool { name != nil }

    /// Adds events, if any other node asks for them.
    func add(_ some: [Control.DeviceEvent]) {
        guard isKept else { return }
        events += some
        // Removing the first ones moves all others, so it is done for many at a time.
        let surplus = events.count - Limits.keptDeviceEvents
        guard surplus > Limits.keptDeviceEvents / 4 else { return }
        events.removeFirst(surplus)
        first += UInt64(surplus)
    }

    /// Returns the events after a cursor, and keeps events from now on. An empty cursor is the end.
    func read(after cursor: String) -> Part {
        let own = begin()
        timer.arm(afterMilliseconds: Limits.keptDeviceEventsMilliseconds)
        let end = first + UInt64(events.count)
        let numbers = cursor.split(separator: ":").compactMap { UInt64($0) }
        let isKnown = numbers.count == 2 && numbers[0] == own && numbers[1] <= end
        guard isKnown else { return Part(cursor: "\(own):\(end)", hasGap: !cursor.isEmpty) }
        let start = max(numbers[1], first)
        let some = events[Int(start - first)...].prefix(Limits.deviceEventsAtOnce)
        let next = start + UInt64(some.count)
        return Part(
            events: Array(some), cursor: "\(own):\(next)", hasGap: start > numbers[1], hasMore: next < end)
    }

    private func begin() -> UInt64 {
        if let name { return name }
        let drawn = context.random.next()
        name = drawn
        exchange.count(1)
        return drawn
    }

    /// Nobody has asked for long.
    private func forget() {
        guard isKept else { return }
        (name, events, first) = (nil, [], 0)
        exchange.count(-1)
    }
}
