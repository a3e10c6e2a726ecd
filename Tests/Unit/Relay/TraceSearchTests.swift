import PostriderNotifications
import PostriderStorage
import RelayFixtures
import Testing

@testable import PostriderRelay

@Suite("The search in the trace")
struct TraceSearchTests {
    private let store = MemoryTrace(segmentRecords: 4, mostSegments: 5)

    private static func push(
        _ row: Int64, unique: UInt64? = nil, device: DeviceIdentity = Samples.device,
        topic: Topic = Samples.topic
    ) -> TraceRecord {
        let notification = Samples.notification(UInt64(row), topic: topic, device: device)
        var push = TraceAcceptance(
            QueuedNotification(row: QueueRow(row), notification: notification),
            at: Moment(milliseconds: 1000 * row))
        if let unique {
            push = TraceAcceptance(
                row: push.row, moment: push.moment, identity: push.identity,
                uniqueIdentity: NotificationIdentity(high: 9, low: unique), target: push.target,
                topic: push.topic, pushType: push.pushType,
                priority: push.priority, expiration: push.expiration, collapses: push.collapses,
                payloadBytes: push.payloadBytes, proof: push.proof)
        }
        return .acceptance(push)
    }

    private static func event(_ kind: TraceEvent.Kind, _ row: Int64, _ detail: Int64 = 0) -> TraceRecord {
        .event(TraceEvent(kind, at: Moment(milliseconds: 1000 * row + 1), row: QueueRow(row), detail: detail))
    }

    private func find(_ filter: TraceFilter = TraceFilter(), last: Int = 50) throws -> TraceSearch {
        var search = TraceSearch(filter, last: last, in: store)
        while try !search.step(store) {}
        return search
    }

    private static func identity(_ number: UInt64) -> TraceFilter {
        TraceFilter(identity: NotificationIdentity(high: 1, low: number))
    }

    @Test("finds a push by its identity with all that happened to it, over segments")
    func life() throws {
        try store.append([Self.push(1), Self.push(2), Self.event(.stored, 1), Self.push(3)])
        try store.append([Self.event(.stored, 2), Self.event(.sent, 1, 5), Self.event(.acknowledged, 1)])
        let found = try find(Self.identity(1)).found
        #expect(found.map(\.acceptance.row.value) == [1])
        #expect(found[0].events.map(\.kind) == [.stored, .sent, .acknowledged])
        #expect(try find(Self.identity(8)).found.isEmpty)
    }

    @Test("finds a push by its unique identity, its device or its topic")
    func filters() throws {
        let other = DeviceIdentity(high: 5, low: 5)
        try store.append([
            Self.push(1, unique: 3), Self.push(2, device: other), Self.push(3, topic: Samples.otherTopic),
        ])
        let rows = { (filter: TraceFilter) in try find(filter).found.map(\.acceptance.row.value) }
        #expect(try rows(TraceFilter(identity: NotificationIdentity(high: 9, low: 3))) == [1])
        #expect(try rows(TraceFilter(device: other)) == [2])
        #expect(try rows(TraceFilter(topic: Samples.otherTopic)) == [3])
        #expect(try rows(TraceFilter(device: other, topic: Samples.otherTopic)) == [])
    }

    @Test("answers the latest, in the order of their acceptance, and no more than it was asked for")
    func last() throws {
        for row in 1...18 as ClosedRange<Int64> { try store.append([Self.push(row)]) }
        let rows = { try find(last: $0).found.map(\.acceptance.row.value) }
        #expect(try rows(1) == [18])
        #expect(try rows(7) == Array(12...18))
        #expect(try rows(1000) == Array(1...18))
        for row in 19...22 as ClosedRange<Int64> { try store.append([Self.push(row)]) }
        #expect(try rows(1000) == Array(5...22), "the oldest segment has gone")
    }

    @Test("names what replaced a push, wherever that was accepted")
    func names() throws {
        try store.append([Self.push(1), Self.push(2), Self.push(3), Self.push(4), Self.push(5)])
        try store.append([
            Self.event(.replaced, 4, 5), Self.event(.merged, 5, 1), Self.event(.replaced, 3, 77),
        ])
        let search = try find(last: 3)
        #expect(search.names.mapValues(\.low) == [QueueRow(1): 1, QueueRow(5): 5])
        let trace = Control.Trace(search, TraceLosses(), sample: 1)
        #expect(trace.pushes.map { $0.events.first?.otherRow } == [77, 5, 1])
        #expect(trace.pushes[0].events[0].other == nil)
        #expect(trace.pushes[1].events[0].other == trace.pushes[2].identity)
    }

    private static func report(
        _ kind: TraceEvent.Kind, _ identity: UInt64, by device: DeviceIdentity = Samples.device
    ) -> TraceRecord {
        .report(
            TraceReport(
                kind, at: Moment(milliseconds: 9000), onDevice: Moment(milliseconds: 8000),
                of: NotificationIdentity(high: 1, low: identity), by: device))
    }

    @Test("believes a device what it reports of pushes that were sent to it, and nothing else")
    func reports() throws {
        let other = DeviceIdentity(high: 5, low: 5)
        try store.append([Self.push(1), Self.push(2, device: other), Self.push(3)])
        try store.append([Self.report(.shown, 1), Self.event(.sent, 1), Self.event(.sent, 2)])
        try store.append([
            Self.report(.handedOver, 1), Self.report(.shown, 2), Self.report(.actedOn, 3),
            Self.report(.shown, 9), Self.report(.shown, 1), Self.report(.handedOver, 2, by: other),
        ])
        let lives = try find().found
        #expect(
            lives.map { $0.events.map(\.kind) } == [[.sent, .handedOver, .shown], [.sent, .handedOver], []])
        #expect(lives[0].events[1].moment.milliseconds == 9000 && lives[0].events[1].detail == 8000)
        let told = Control.Trace(try find(), TraceLosses(), sample: 1).pushes[0].events[1]
        #expect(told.what == "handedOver" && told.at == 9000 && told.deviceAt == 8000)
    }

    @Test("finds a broadcast by its identity or topic, and not by a device, with what was sent of it")
    func broadcasts() throws {
        let identity = NotificationIdentity(high: 1, low: 5)
        let channel = ChannelIdentity(high: 2, low: 3)
        let broadcast = Broadcast(
            identity: identity, channel: channel, topic: Samples.topic, payload: [1, 2, 3],
            priority: .immediate,
            expiration: .nowOrNever, pushType: .liveactivity, acceptedAt: Samples.now)
        try store.append([
            .acceptance(
                TraceAcceptance(
                    broadcast, in: .development, by: .certificate, row: QueueRow(5), at: Samples.now)),
            Self.event(.broadcast, 5, TraceEvent.count(12, ofShard: 1)), Self.push(6),
            Self.event(.skipped, 5, TraceEvent.count(2, ofShard: 0)),
        ])
        let told = Control.Trace(try find(TraceFilter(identity: identity)), TraceLosses(), sample: 1)
        #expect(told.pushes.count == 1 && told.pushes[0].channel == channel.description)
        #expect(told.pushes[0].device == nil && told.pushes[0].environment == .development)
        #expect(told.pushes[0].events.map(\.devices) == [12, 2] && told.pushes[0].events[0].shard == 1)
        #expect(try find(TraceFilter(topic: Samples.topic)).found.count == 2)
        #expect(try find(TraceFilter(device: Samples.device)).found.map(\.acceptance.row.value) == [6])
    }

    @Test("gives a report to the latest of the pushes with its identity that were sent")
    func namesakes() throws {
        let (first, second) = (Self.push(1), Self.push(2))
        guard case .acceptance(let push) = first else { return }
        let again = { (row: Int64) in
            TraceRecord.acceptance(
                TraceAcceptance(
                    row: QueueRow(row), moment: push.moment, identity: push.identity, uniqueIdentity: nil,
                    target: push.target, topic: push.topic,
                    pushType: nil, priority: push.priority, expiration: push.expiration, collapses: false,
                    payloadBytes: 1, proof: nil))
        }
        try store.append([first, second, Self.event(.sent, 1), again(3), Self.event(.merged, 3, 1)])
        try store.append([Self.report(.handedOver, 1)])
        #expect(try find(Self.identity(1)).found.map { $0.events.last?.kind } == [.handedOver, .merged])
        try store.append([again(4), Self.event(.sent, 4), Self.report(.handedOver, 1)])
        #expect(
            try find(Self.identity(1)).found.map { $0.events.last?.kind } == [
                .handedOver, .merged, .handedOver,
            ])
    }

    @Test("gives a report that names a push to that one, and to no other device's", .bug(id: "R6"))
    func reportsByRow() throws {
        let first = Self.push(1)
        guard case .acceptance(let push) = first else { return }
        func again(_ row: Int64, of device: DeviceIdentity = Samples.device) -> TraceRecord {
            .acceptance(
                TraceAcceptance(
                    row: QueueRow(row), moment: push.moment, identity: push.identity, uniqueIdentity: nil,
                    target: .device(device, Samples.first), topic: push.topic, pushType: nil,
                    priority: push.priority, expiration: push.expiration, collapses: false, payloadBytes: 1,
                    proof: nil))
        }
        func report(_ kind: TraceEvent.Kind, _ row: Int64, other: Int64 = 0) -> TraceRecord {
            .report(
                TraceReport(
                    kind, at: Moment(milliseconds: 9000), onDevice: Moment(milliseconds: 8000),
                    of: push.identity, row: QueueRow(row), other: QueueRow(other), by: Samples.device))
        }
        let stranger = DeviceIdentity(high: 5, low: 5)
        let sent = [1, 2, 3, 4].map { Self.event(.sent, $0) }
        let reports = [
            report(.handedOver, 1), report(.handedOver, 2), report(.merged, 3, other: 1), report(.shown, 4),
        ]
        for records in [[first, again(2), again(3), again(4, of: stranger)], sent, reports] {
            try store.append(records)
        }
        let search = try find(Self.identity(1))
        #expect(
            search.found.map { $0.events.map(\.kind) } == [
                [.sent, .handedOver], [.sent, .handedOver], [.sent, .merged], [.sent],
            ])
        #expect(search.found[2].events.last?.detail == 1)
        let told = Control.Trace(search, TraceLosses(), sample: 1)
        #expect(told.pushes[2].events.last?.other == push.identity.description)
    }

    @Test("tells when the relay was started in a push's life")
    func starts() throws {
        let started = {
            TraceRecord.event(TraceEvent(.started, at: Moment(milliseconds: $0), row: QueueRow(0)))
        }
        try store.append([started(500), Self.push(1), started(2000)])
        #expect(try find().starts.map(\.milliseconds) == [2000])
    }

    @Test("bounds the events of one push, and keeps its end")
    func cut() throws {
        let store = MemoryTrace()
        try store.append([Self.push(1)] + (0..<300).map { Self.event(.sent, 1, $0) })
        try store.append([Self.event(.acknowledged, 1)])
        var search = TraceSearch(TraceFilter(), last: 1, in: store)
        while try !search.step(store) {}
        let life = try #require(search.found.first)
        #expect(life.isCut && life.events.count == Limits.tracedEvents)
        #expect(life.events.last?.kind == .acknowledged && life.events.first?.detail == 0)
    }
}
