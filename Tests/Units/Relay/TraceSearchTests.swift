import Notifications
import Storage
import Testing

@testable import Relay

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
                uniqueIdentity: NotificationIdentity(high: 9, low: unique), device: push.device,
                registration: push.registration, topic: push.topic, pushType: push.pushType,
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
        let trace = Control.Trace(search, lost: 0, sample: 1)
        #expect(trace.pushes.map { $0.events.first?.otherRow } == [77, 5, 1])
        #expect(trace.pushes[0].events[0].other == nil)
        #expect(trace.pushes[1].events[0].other == trace.pushes[2].identity)
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

@Suite("What writes the trace")
struct TraceRecorderTests {
    private final class Box {
        var records: [TraceRecord] = []
        var room = Int.max
        func take(_ letters: inout [TraceLetter]) -> Bool {
            let some = letters.prefix(room)
            for case .record(let record) in some { records.append(record) }
            letters.removeFirst(some.count)
            return letters.isEmpty
        }
    }

    private let box = Box()
    private let losses = TraceLosses()

    private func recorder(sample: Int = 1) -> TraceRecorder {
        TraceRecorder(ofShard: 0, sample: sample, losses: losses) { [box] in box.take(&$0) }
    }

    @Test("counts what there is no room for, and goes on")
    func full() {
        let recorder = recorder()
        box.room = 2
        for row in 1...5 as ClosedRange<Int64> {
            recorder.note(.stored, QueueRow(row), detail: 0, at: Samples.now)
        }
        recorder.flush()
        #expect(box.records.map(\.row.value) == [1, 2] && losses.count == 3)
        box.room = 9
        recorder.note(.stored, QueueRow(6), detail: 0, at: Samples.now)
        recorder.flush()
        #expect(box.records.map(\.row.value) == [1, 2, 6] && losses.count == 3)
    }

    @Test("hands over so many at a time without being asked")
    func handover() {
        let recorder = recorder()
        for row in 1...Int64(Limits.traceHandover) {
            #expect(box.records.isEmpty)
            recorder.note(.stored, QueueRow(row), detail: 0, at: Samples.now)
        }
        #expect(box.records.count == Limits.traceHandover)
    }

    @Test("traces about one push of as many as it was told, and each whole")
    func sample() {
        let recorder = recorder(sample: 10)
        for row in 1...10_000 as ClosedRange<Int64> {
            let queued = QueuedNotification(row: QueueRow(row), notification: Samples.notification(1))
            recorder.noteAccepted(queued, at: Samples.now)
            recorder.note(.stored, QueueRow(row), detail: 0, at: Samples.now)
        }
        recorder.flush()
        let counts = Dictionary(grouping: box.records, by: \.row).mapValues(\.count)
        #expect(800...1200 ~= counts.count && counts.values.allSatisfy { $0 == 2 })
    }

    @Test("is off where nothing is to be traced, and says so")
    func off() {
        let recorder = TraceRecorder()
        recorder.note(.stored, QueueRow(1), detail: 0, at: Samples.now)
        recorder.flush()
        var status = 0
        recorder.ask(.feed(after: nil)) { status = $0.status }
        #expect(status == 404)
    }
}

@Suite("What keeps the trace")
struct TraceKeeperTests {
    private final class Post {
        var answers: [UInt64: ControlDesk.Answer] = [:]
        var closed = 0
    }

    private let disk = MemoryTrace.Disk()
    private let losses = TraceLosses()
    private let post = Post()
    private let keeper: TraceKeeper

    init() {
        let post = post
        keeper = TraceKeeper(
            MemoryTrace(disk: disk, segmentRecords: 2), sample: 1, losses: losses, log: .none,
            now: Samples.now,
            post: { letter, _ in
                if case .traced(let ticket, let answer) = letter { post.answers[ticket] = answer }
            },
            onClosed: { post.closed += 1 })
    }

    private static let letters: [TraceLetter] = (1...5).map { row in
        .record(.event(TraceEvent(.stored, at: Samples.now, row: QueueRow(row))))
    }
    private static let search = TraceQuestion.search(TraceFilter(), last: 1)

    @Test("answers a search after as many steps as there are segments, and writes in between")
    func search() {
        keeper.receive(Self.letters + [.question(Self.search, ticket: 1, asker: 0)])
        var steps = 0
        while keeper.hasWork {
            steps += 1
            keeper.receive(Self.letters)
            keeper.work()
        }
        #expect(steps > 2 && post.answers[1]?.status == 200)
    }

    @Test("refuses questions beyond its bound, and those that a stop leaves open")
    func bounds() {
        let questions = (1...Limits.traceQuestions + 1).map {
            TraceLetter.question(Self.search, ticket: UInt64($0), asker: 0)
        }
        keeper.receive(questions)
        #expect(post.answers.mapValues(\.status) == [UInt64(Limits.traceQuestions + 1): 503])
        keeper.receive([.close] + Self.letters)
        #expect(post.answers.count == questions.count && post.answers.values.allSatisfy { $0.status == 503 })
        #expect(post.closed == 1 && !keeper.hasWork)
    }

    @Test("counts what a failing disk does not take, and goes on when it is well again")
    func failure() {
        disk.fault = StoreError(.full, "No room.")
        keeper.receive(Self.letters)
        #expect(losses.count == 5)
        keeper.receive([.question(.feed(after: nil), ticket: 1, asker: 0)])
        #expect(post.answers[1]?.status == 503)
        disk.fault = nil
        keeper.receive(Self.letters)
        #expect(losses.count == 5)
        #expect(MemoryTrace(disk: disk).lastRow == QueueRow(5))
    }
}
