import Foundation
import PostriderCourier
import PostriderNotifications
import PostriderStorage
import RelayFixtures
import Testing

@testable import PostriderRelay

@Suite("What writes the trace")
struct TraceRecorderTests {
    private final class Box {
        var records: [TraceRecord] = []
        var refusals: [TraceRefusal] = []
        var room = Int.max
        func take(_ message: TraceRequest) -> Bool {
            guard room > 0 else { return false }
            room -= 1
            switch message {
            case .records(let some): records += some
            case .refusals(let some): refusals += some
            case .question, .close, .callbacks, .spans, .sample: break
            }
            return true
        }
    }

    private let box = Box()
    private let losses = TraceLosses()

    private func recorder(sample: Int = 1) -> TraceRecorder {
        TraceRecorder(ofShard: 0, sample: sample, losses: losses) { [box] in box.take($0) }
    }

    @Test("counts what there is no room for, and goes on")
    func full() {
        let recorder = recorder()
        box.room = 0
        for row in 1...5 as ClosedRange<Int64> {
            recorder.note(.stored, QueueRow(row), detail: 0, at: Samples.now)
        }
        recorder.flush()
        #expect(box.records.isEmpty && losses.count == 5)
        box.room = 9
        recorder.note(.stored, QueueRow(6), detail: 0, at: Samples.now)
        recorder.flush()
        #expect(box.records.map(\.row.value) == [6] && losses.count == 5)
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

    @Test("tells of so many refused pushes in a second, counts the others, and asks nothing of those")
    func refusals() {
        let recorder = recorder()
        var asked = 0
        let most = Limits.refusalsPerSecond
        for second in 0..<2 as Range<Int64> {
            for number in 0..<most * 3 {
                let now = Samples.now.advanced(byMilliseconds: second * 1000 + Int64(number))
                recorder.note(at: now) {
                    asked += 1
                    return TraceRefusal(
                        .badDeviceToken, at: now, of: nil, topic: nil, in: .production, on: 1)
                }
            }
        }
        recorder.flush()
        #expect(box.refusals.count == 2 * most && asked == 2 * most && box.records.isEmpty)
        #expect(losses.refusals == UInt64(4 * most) && losses.count == 0)
    }

    @Test("tells of a broadcast how many devices of the shard it was sent to, and how many not")
    func broadcasts() {
        let recorder = recorder()
        let broadcast = Broadcast(
            identity: Samples.notification(1).identity, channel: ChannelIdentity(high: 1, low: 2),
            topic: Samples.topic, payload: [], priority: .immediate, expiration: .nowOrNever,
            pushType: .liveactivity, acceptedAt: Samples.now)
        recorder.noteBroadcast(broadcast, QueueRow(5), sent: 7, skipped: 0, at: Samples.now)
        recorder.noteBroadcast(broadcast, QueueRow(6), sent: 1, skipped: 2, at: Samples.now)
        recorder.flush()
        let told = box.records.compactMap { record in
            if case .event(let event) = record {
                "\(event.kind) \(event.row.value) \(event.connection.number)"
            } else {
                nil
            }
        }
        #expect(told == ["broadcast 5 7", "broadcast 6 1", "skipped 6 2"])
    }

    @Test(
        "lets a device report eight things of each notification that it was sent"
    )
    func allowance() {
        var allowance = ReportAllowance()
        let spend = { (most: Int) in (0..<most).prefix { _ in allowance.spend() }.count }
        #expect(spend(10_000) == Limits.deliveryWindow * 8 + Limits.unreported)
        allowance.earn()
        allowance.earn()
        #expect(spend(1000) == 16)
        for _ in 0..<5000 { allowance.earn() }
        #expect(spend(10_000) == Limits.unreported * 8)
    }

    @Test("is off where nothing is to be traced, and says so")
    func off() {
        let recorder = TraceRecorder()
        #expect(!recorder.traces(QueueRow(1)))
        recorder.note(.stored, QueueRow(1), detail: 0, at: Samples.now)
        let report = Report.Event(.shown, of: NotificationIdentity(high: 1, low: 1), at: Samples.now)
        recorder.note(report, by: Samples.device, at: Samples.now)
        recorder.note(at: Samples.now) { preconditionFailure("nobody wants to know") }
        #expect(recorder.missing == nil)
        recorder.flush()
        var sentence: String?
        recorder.ask(.feed(after: nil)) { if case .failed(let why) = $0 { sentence = why } }
        #expect(sentence == "This relay keeps no trace.")
    }
}

@Suite("What keeps the trace")
struct TraceWriterTests {
    private final class Post {
        var answers: [UInt64: TraceAnswer] = [:]
        /// The sentences of the failed answers.
        var failures: [UInt64: String] {
            answers.compactMapValues { if case .failed(let sentence) = $0 { sentence } else { nil } }
        }
        var closed = 0
        var now: UInt64 = 0
        let told = Told()
    }

    private let disk = MemoryTrace.Disk()
    private let losses = TraceLosses()
    private let post = Post()
    private let keeper: TraceWriter

    init() {
        let post = post
        keeper = TraceWriter(
            MemoryTrace(disk: disk, segmentRecords: 2), sample: 1, losses: losses,
            log: post.told.log,
            now: Samples.now, readClock: { post.now },
            post: { message, _ in
                if case .control(.traced(let ticket, let answer)) = message {
                    post.answers[ticket] = answer
                }
            },
            onClosed: { post.closed += 1 })
    }

    private static let messages: [TraceRequest] = [
        .records([event(1), event(2)]), .records([event(3), event(4), event(5)]),
    ]

    private static func event(_ row: Int64) -> TraceRecord {
        .event(TraceEvent(.stored, at: Samples.now, row: QueueRow(row)))
    }
    private static let search = TraceQuestion.search(TraceFilter(), last: 1)

    @Test("answers a search after as many steps as there are segments, and writes in between")
    func search() {
        keeper.receive(Self.messages + [.question(Self.search, ticket: 1, asker: 0)])
        var steps = 0
        while keeper.hasWork {
            steps += 1
            keeper.receive(Self.messages)
            keeper.work()
        }
        guard case .pushes = post.answers[1] else {
            Issue.record("the search is not answered")
            return
        }
        #expect(steps > 2)
    }

    @Test("refuses questions beyond its bound, and those that a stop leaves open")
    func bounds() {
        let questions = (1...Limits.traceQuestions + 1).map {
            TraceRequest.question(Self.search, ticket: UInt64($0), asker: 0)
        }
        keeper.receive(questions)
        #expect(post.failures == [UInt64(Limits.traceQuestions + 1): TraceAnswer.busy])
        keeper.receive([.close] + Self.messages)
        #expect(post.failures.count == questions.count)
        #expect(post.closed == 1 && !keeper.hasWork)
    }

    @Test("answers a question about an identity, or about refusals, with those that it asks for")
    func refusals() throws {
        let refusals = (1...4 as ClosedRange<UInt64>).map { number in
            TraceRefusal(
                .badDeviceToken, at: Samples.now, of: NotificationIdentity(high: 1, low: number % 3),
                topic: number == 4 ? Samples.otherTopic : Samples.topic, in: .development,
                on: TraceEvent.connection(9, ofShard: 1))
        }
        keeper.receive([.refusals(refusals)])
        let ask = { (filter: TraceFilter, last: Int) throws -> [Control.TracedRefusal] in
            keeper.receive([.question(.search(filter, last: last), ticket: 7, asker: 0)])
            while keeper.hasWork { keeper.work() }
            guard case .pushes(let found) = try #require(post.answers[7]) else { return [] }
            return found.refusals
        }
        #expect(try ask(TraceFilter(), 9).isEmpty)
        #expect(try ask(TraceFilter(isAboutRefusals: true), 9).count == 4)
        #expect(try ask(TraceFilter(isAboutRefusals: true), 3).map(\.topic).last == Samples.otherTopic.text)
        #expect(try ask(TraceFilter(topic: Samples.topic, isAboutRefusals: true), 9).count == 3)
        let found = try ask(TraceFilter(identity: NotificationIdentity(high: 1, low: 1)), 9)
        #expect(found.count == 2 && found[0].status == 400 && found[0].reason == "BadDeviceToken")
        #expect(found[0].connection == 9 && found[0].shard == 1 && found[0].environment == .development)
    }

    @Test("counts what a failing disk does not take, and goes on when it is well again")
    func failure() {
        disk.fault = StoreError(.full, "No room.")
        keeper.receive(Self.messages)
        #expect(losses.count == 5)
        keeper.receive([.question(.feed(after: nil), ticket: 1, asker: 0)])
        guard case .failed("No room.") = post.answers[1] else {
            Issue.record("a disk that fails is not told of")
            return
        }
        disk.fault = nil
        keeper.receive(Self.messages)
        #expect(losses.count == 5)
        #expect(MemoryTrace(disk: disk).lastRow == QueueRow(5))
    }

    @Test("tells of a disk that is full now and then twice in a minute, whatever it does", .bug(id: "A18"))
    func changingDisk() {
        for round in 0..<100 {
            disk.fault = round % 2 == 0 ? StoreError(.full, "No room.") : nil
            keeper.receive(Self.messages)
            post.now += 100_000_000
        }
        let told = ["the trace is not written: No room.", "the trace is written again; 5 records are lost"]
        #expect(post.told.lines == told + [told[0]])
        post.now += FailureEpisodes.quiet
        keeper.receive(Self.messages)
        #expect(post.told.lines.count == 4)
    }
}
