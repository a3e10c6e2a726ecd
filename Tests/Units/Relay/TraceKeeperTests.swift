import Courier
import Notifications
import Storage
import Testing

@testable import Relay

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

    @Test(
        "lets a device report three things of each notification that it was sent"
    )
    func allowance() {
        var allowance = ReportAllowance()
        let spend = { (most: Int) in (0..<most).prefix { _ in allowance.spend() }.count }
        #expect(spend(1000) == Limits.deliveryWindow * 3)
        allowance.earn()
        allowance.earn()
        #expect(spend(1000) == 6)
        for _ in 0..<5000 { allowance.earn() }
        #expect(spend(10_000) == Limits.unreported * 3)
    }

    @Test("is off where nothing is to be traced, and says so")
    func off() {
        let recorder = TraceRecorder()
        #expect(!recorder.traces(QueueRow(1)))
        recorder.note(.stored, QueueRow(1), detail: 0, at: Samples.now)
        let report = Report.Event(.shown, of: NotificationIdentity(high: 1, low: 1), at: Samples.now)
        recorder.note(report, by: Samples.device, at: Samples.now)
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
