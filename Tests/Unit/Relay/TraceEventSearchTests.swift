import PostriderNotifications
import PostriderStorage
import RelayFixtures
import Testing

@testable import PostriderRelay

@Suite("The search for the events of pushes that another node has accepted")
struct TraceEventSearchTests {
    private let store = MemoryTrace(segmentRecords: 3, mostSegments: 100)
    /// A long time, in milliseconds.
    private static let hour: Int64 = 3_600_000

    private static func row(_ number: Int64, device: DeviceIdentity? = Samples.device) -> TracedRow {
        TracedRow(
            row: QueueRow(number), identity: NotificationIdentity(high: 1, low: UInt64(number)),
            device: device, acceptedAt: Moment(milliseconds: hour * number))
    }

    private static func event(
        _ kind: TraceEvent.Kind, _ row: Int64, at moment: Int64? = nil
    ) -> TraceRecord {
        .event(
            TraceEvent(kind, at: Moment(milliseconds: moment ?? hour * row), row: QueueRow(row), detail: 0))
    }

    private static func report(
        _ kind: TraceEvent.Kind, _ push: Int64, row: Int64 = 0, by device: DeviceIdentity = Samples.device
    ) -> TraceRecord {
        .report(
            TraceReport(
                kind, at: Moment(milliseconds: hour * push), onDevice: Samples.now,
                of: NotificationIdentity(high: 1, low: UInt64(push)), row: QueueRow(row), by: device,
                text: "well"))
    }

    /// Returns the events, and how many segments were read.
    private func find(_ rows: [TracedRow], isAboutOthers: Bool = true) throws -> (words: [String], Int) {
        var search = TraceEventSearch(rows, in: store, isAboutOthers: isAboutOthers)
        var count = 1
        while try !search.step(store) { count += 1 }
        return (search.events.map { "\($0.row) \($0.what)" }, count)
    }

    @Test("has them in order, over segments, and those that the device has reported")
    func found() throws {
        try store.append([Self.event(.stored, 1), Self.event(.sent, 2), Self.event(.sent, 1)])
        try store.append([Self.event(.acknowledged, 1), Self.report(.begun, 1, row: 1), Self.event(.sent, 3)])
        try store.append([Self.report(.done, 1), Self.report(.done, 2, by: DeviceIdentity(high: 5, low: 5))])
        let (words, _) = try find([Self.row(1), Self.row(2)])
        #expect(words == ["1 stored", "1 sent", "1 acknowledged", "1 begun", "1 done", "2 sent"])
    }

    @Test("leaves out pushes that the node has accepted itself, unless they are wanted")
    func own() throws {
        let notification = Samples.notification(2)
        let queued = QueuedNotification(row: QueueRow(2), notification: notification)
        try store.append([.acceptance(TraceAcceptance(queued, at: Moment(milliseconds: 2 * Self.hour)))])
        try store.append([Self.event(.stored, 1), Self.event(.stored, 2)])
        #expect(try find([Self.row(1), Self.row(2)]).words == ["1 stored"])
        #expect(try find([Self.row(2)], isAboutOthers: false).words == ["2 stored"])
    }

    @Test("reads no segment that was full before the oldest push was accepted, but a minute earlier ones")
    func old() throws {
        for number in 1...10 as ClosedRange<Int64> {
            for _ in 0..<3 { try store.append([Self.event(.sent, number)]) }
        }
        let (words, count) = try find([Self.row(9)])
        #expect(words == ["9 sent", "9 sent", "9 sent"] && count == 3)
        #expect(try find([Self.row(1)]).1 == 11)
        #expect(try find([]).words.isEmpty)
    }

    @Test("has so many of one push: the first ones and the latest")
    func bound() throws {
        for number in 0..<Int64(2 * Limits.tracedEvents) / 3 * 3 {
            try store.append([Self.event(number == 0 ? .stored : .sent, 1, at: Self.hour + number)])
        }
        try store.append([Self.event(.acknowledged, 1)])
        var search = TraceEventSearch([Self.row(1)], in: store, isAboutOthers: true)
        while try !search.step(store) {}
        #expect(search.events.count == Limits.tracedEvents)
        #expect(search.events.first?.what == "stored" && search.events.last?.what == "acknowledged")
    }
}
