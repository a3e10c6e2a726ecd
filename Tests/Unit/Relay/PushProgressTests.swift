import PostriderNotifications
import PostriderStorage
import RelayFixtures
import Testing

@testable import PostriderRelay

@Suite("How far a push has come")
struct PushProgressTests {
    private func progress(_ events: String...) -> PushProgress {
        events.reduce(into: PushProgress()) { progress, what in
            progress.take(Control.TracedEvent(row: 1, at: 0, what: what))
        }
    }

    private static let paths: [([String], Set<PushProgress.Stage>)] = [
        ([], []), (["stored", "sent"], [.accepted]), (["acknowledged"], [.accepted, .delivered]),
        (["acknowledged", "begun"], [.accepted, .delivered, .taken]),
        (["acknowledged", "begun", "done"], [.accepted, .delivered, .taken, .done]),
        (["acknowledged", "handedOver"], [.accepted, .delivered, .taken, .done]),
        (["acknowledged", "shown"], [.accepted, .delivered, .shown]),
        (["failed", "failed", "gaveUp"], [.accepted, .delivered, .taken]),
        (["postponed"], [.accepted, .delivered, .taken]), (["expired"], [.accepted]),
    ]

    @Test("is what its trace tells", arguments: paths)
    func stages(_ path: [String], _ stages: Set<PushProgress.Stage>) {
        var progress = PushProgress()
        for what in path { progress.take(Control.TracedEvent(row: 1, at: 0, what: what)) }
        #expect(progress.stages == stages)
        // Repeated events change nothing.
        for what in path { progress.take(Control.TracedEvent(row: 1, at: 0, what: what)) }
        #expect(progress.stages == stages)
    }

    @Test(
        "ends where the relay gives the push up",
        arguments: ["expired", "discarded", "dropped", "replaced", "merged"])
    func endings(_ what: String) {
        guard case .failed = progress("stored", what).state(of: .delivered) else {
            Issue.record("\(what) is no failure")
            return
        }
        #expect(progress("stored", what).state(of: .accepted) == .reached)
        #expect(progress("stored", "replaced", "recalled").state(of: .delivered) == .underWay)
    }

    @Test("ends where the device gives it up, for those who wait for more than that")
    func deadLetter() {
        let given = progress("acknowledged", "begun", "gaveUp")
        guard case .failed(let reason) = given.state(of: .done) else {
            Issue.record("a dead letter is no failure")
            return
        }
        #expect(reason.contains("dead letter"))
        #expect(given.state(of: .taken) == .reached && given.state(of: .shown) == .underWay)
        #expect(progress("acknowledged", "gaveUp", "done").state(of: .done) == .reached)
        guard case .failed = progress("acknowledged", "replacedOnDevice").state(of: .taken) else {
            Issue.record("one that was replaced is never taken")
            return
        }
    }

    @Test("fails with the relay's refusal")
    func refusal() {
        var progress = PushProgress()
        progress.refused(410, "Unregistered")
        #expect(progress.state(of: .accepted) == .failed("the relay refused it: 410 Unregistered"))
    }
}

@Suite("Those who wait for a push")
struct TraceWaitTests {
    private final class Post {
        var answers: [(ticket: UInt64, status: Int, text: String)] = []
    }

    private let post = Post()
    private let store = MemoryTrace(segmentRecords: 100)
    private let clock = Clock()

    private final class Clock {
        var now: UInt64 = 0
    }

    private func writer() -> TraceWriter {
        TraceWriter(
            store, sample: 1, losses: TraceLosses(), log: .none, now: Samples.now,
            readClock: { [clock] in clock.now },
            post: { [post] message, _ in
                guard case .control(.traced(let ticket, let traced)) = message else { return }
                let answer = ControlHandler.answer(traced)
                post.answers.append((ticket, answer.status, String(decoding: answer.body, as: UTF8.self)))
            }, onClosed: {})
    }

    private func work(_ writer: TraceWriter) { while writer.hasWork { writer.work() } }

    private static func queued(_ row: Int64) -> QueuedNotification {
        QueuedNotification(row: QueueRow(row), notification: Samples.notification(UInt64(row)))
    }

    private func acceptance(_ row: Int64) -> TraceRecord {
        .acceptance(TraceAcceptance(Self.queued(row), at: Samples.now))
    }

    private func ask(
        _ writer: TraceWriter, _ row: Int64, _ stage: PushProgress.Stage, ticket: UInt64 = 1,
        seconds: Int = 30, matching filter: TraceFilter = TraceFilter()
    ) {
        let identity = Self.queued(row).notification.identity
        guard let wait = try? PushWait("wait=\(stage)&timeout=\(seconds)") else {
            preconditionFailure("the query is good")
        }
        writer.receive([.question(.wait(identity, wait, matching: filter), ticket: ticket, asker: 0)])
        work(writer)
    }

    private func report(_ row: Int64, _ kind: TraceEvent.Kind, _ text: String = "") -> TraceRecord {
        let queued = Self.queued(row)
        return .report(
            TraceReport(
                kind, at: Samples.now, onDevice: Samples.now, of: queued.notification.identity,
                row: queued.row, by: queued.notification.device, text: text))
    }

    private func event(_ row: Int64, _ kind: TraceEvent.Kind) -> TraceRecord {
        .event(TraceEvent(kind, at: Samples.now, row: QueueRow(row)))
    }

    @Test("are answered at once where it has come so far already")
    func past() {
        let writer = writer()
        writer.receive([.records([acceptance(7), event(7, .sent), event(7, .acknowledged)])])
        ask(writer, 7, .delivered)
        #expect(post.answers.count == 1 && post.answers[0].status == 200)
        #expect(post.answers[0].text.contains(#""state":"reached""#))
        #expect(writer.nextDeadline == nil)
    }

    @Test("are answered when it comes so far, whether the push was known when they asked or not")
    func future() {
        let writer = writer()
        ask(writer, 7, .done, ticket: 1)
        writer.receive([.records([acceptance(7), acceptance(8), event(7, .sent)])])
        ask(writer, 7, .delivered, ticket: 2)
        ask(writer, 8, .delivered, ticket: 3)
        writer.receive([.records([event(7, .acknowledged)])])
        #expect(post.answers.map(\.ticket) == [2])
        writer.receive([.records([report(7, .begun)])])
        writer.receive([.records([report(7, .done, "well")])])
        #expect(post.answers.map(\.ticket) == [2, 1])
        #expect(post.answers[1].text.contains(#""stages":["accepted","delivered","taken","done"]"#))
    }

    @Test("are told why it will not come, and where it is when their time is up")
    func ends() {
        let writer = writer()
        writer.receive([.records([acceptance(7), acceptance(8), event(8, .sent)])])
        ask(writer, 7, .done, ticket: 1)
        ask(writer, 8, .done, ticket: 2, seconds: 10)
        writer.receive([.records([event(7, .expired)])])
        #expect(post.answers.count == 1 && post.answers[0].text.contains("expired before it was delivered"))
        clock.now = 9_999_999_999
        writer.expire()
        #expect(post.answers.count == 1)
        clock.now = 10_000_000_000
        writer.expire()
        #expect(post.answers.map(\.ticket) == [1, 2])
        #expect(post.answers[1].text.contains(#""state":"underWay""#))
        #expect(post.answers[1].text.contains("has not acknowledged it"))
    }

    @Test("are told where it is when all of the trace was searched, even if they have no time")
    func searched() throws {
        let writer = writer()
        writer.receive([.records([acceptance(7)])])
        for row in 100..<300 as Range<Int64> { writer.receive([.records([event(row, .sent)])]) }
        let wait = try PushWait("wait=done&timeout=0")
        let identity = Self.queued(7).notification.identity
        writer.receive([.question(.wait(identity, wait), ticket: 1, asker: 0)])
        #expect(writer.nextDeadline == nil)
        writer.work()
        writer.expire()
        #expect(post.answers.isEmpty && writer.hasWork)
        work(writer)
        writer.expire()
        #expect(post.answers.map { $0.text.contains(#""stages":["accepted"]"#) } == [true])
    }

    @Test("hear of a refusal, before they ask and after")
    func refusal() {
        let writer = writer()
        let identity = Self.queued(7).notification.identity
        ask(writer, 7, .done, ticket: 1)
        let refusal = TraceRefusal(
            .badTopic, at: Samples.now, of: identity, topic: nil, in: .production, on: 0)
        writer.receive([.refusals([refusal])])
        ask(writer, 7, .done, ticket: 2)
        #expect(post.answers.map(\.ticket) == [1, 2])
        #expect(post.answers.allSatisfy { $0.text.contains("400 BadTopic") })
    }

    @Test("of one app or environment are told nothing about others")
    func scope() {
        let writer = writer()
        writer.receive([.records([acceptance(7), event(7, .acknowledged)])])
        let filters = [
            TraceFilter(topic: Samples.otherTopic, environment: .production),
            TraceFilter(topic: Samples.topic, environment: .development),
            TraceFilter(topic: Samples.topic, environment: .production),
        ]
        for (ticket, filter) in filters.enumerated() {
            ask(writer, 7, .delivered, ticket: UInt64(ticket), matching: filter)
            ask(writer, 8, .accepted, ticket: 10 + UInt64(ticket), matching: filter)
        }
        #expect(post.answers.map(\.ticket) == [2])
        writer.receive([.records([acceptance(8)])])
        #expect(post.answers.map(\.ticket) == [2, 12])
    }

    @Test("are no more than there is room for, and are let go when the relay ends")
    func bounds() {
        let writer = writer()
        for ticket in 1...UInt64(Limits.traceWaits) + 1 { ask(writer, 7, .done, ticket: ticket) }
        #expect(post.answers.map(\.status) == [503])
        writer.receive([.close])
        #expect(post.answers.count == Limits.traceWaits + 1)
    }
}
