import PostriderNotifications
import PostriderProviderAPI
import RelayFixtures
import Testing

@testable import PostriderRelay

@Suite("A provider that asks how far its push has come")
struct ProviderWaitTests {
    private static let path = "/3/pushes/123E4567-E89B-12D3-A456-42665544000A"

    /// The questions that the trace got.
    private final class Questions {
        var all: [(wait: PushWait, filter: TraceFilter, ticket: UInt64)] = []
    }

    private let questions = Questions()

    private func recorder(sample: Int = 1) -> TraceRecorder {
        TraceRecorder(ofShard: 0, sample: sample, losses: TraceLosses()) { [questions] request in
            guard case .question(.wait(_, let wait, let filter), let ticket, _) = request else { return true }
            questions.all.append((wait, filter, ticket))
            return true
        }
    }

    private static let state = Control.PushState(
        identity: "123E4567-E89B-12D3-A456-42665544000A", wait: .done, state: "reached", failure: nil,
        stages: [.accepted], position: "its handler is done")

    @Test("gets the answer when the trace has it, about the app and the environment of its request alone")
    func answer() throws {
        let trace = recorder()
        let fixture = try ProviderFixture(lookups: LookupPermissions(keys: ["KEY0000001"]), trace: trace)
        let stream = try fixture.lookUp(Self.path + "?wait=taken&timeout=7")
        try fixture.run()
        let question = try #require(questions.all.first)
        #expect(question.wait == (try PushWait("wait=taken&timeout=7")))
        #expect(question.filter.topic == Samples.topic && question.filter.environment == .production)
        #expect(fixture.answers.status(stream) == nil)
        trace.answered(question.ticket, .progress(Self.state))
        try fixture.run()
        let answer = try #require(fixture.answers.all[stream])
        #expect(answer.status == 200 && answer.body.contains(#""position":"its handler is done""#))
    }

    @Test("is told to come back when the trace has too much to do, or cannot be read")
    func failures() throws {
        let trace = recorder()
        let fixture = try ProviderFixture(lookups: LookupPermissions(keys: ["KEY0000001"]), trace: trace)
        for (answer, status) in [(TraceAnswer.busy, 429), ("The disk is gone.", 503)] {
            let stream = try fixture.lookUp(Self.path)
            try fixture.run()
            trace.answered(try #require(questions.all.last).ticket, .failed(answer))
            try fixture.run()
            #expect(fixture.answers.status(stream) == status)
            #expect(fixture.answers.all[stream]?.fields["retry-after"] == "1")
        }
    }

    @Test(
        "is refused for a wrong query, and by a relay that does not trace every push",
        arguments: [
            ("?wait=soon", 1, 404, "BadPath"), ("?timeout=61", 1, 404, "BadPath"),
            ("?x=1", 1, 404, "BadPath"), ("", 2, 400, "FeatureNotEnabled"),
        ])
    func refused(_ query: String, _ sample: Int, _ status: Int, _ reason: String) throws {
        let fixture = try ProviderFixture(
            lookups: LookupPermissions(keys: ["KEY0000001"]), trace: recorder(sample: sample))
        let stream = try fixture.lookUp(Self.path + query)
        try fixture.run()
        let answer = try #require(fixture.answers.all[stream])
        #expect(answer.status == status && answer.body == #"{"reason":"\#(reason)"}"#)
        #expect(questions.all.isEmpty)
    }

    @Test("has so many questions open, on a connection and with a key, and asks so often")
    func bounds() throws {
        let trace = recorder()
        let fixture = try ProviderFixture(lookups: LookupPermissions(keys: ["KEY0000001"]), trace: trace)
        let streams = try (0...Limits.listings).map { _ in try fixture.lookUp(Self.path) }
        try fixture.run()
        #expect(streams.map(fixture.answers.status) == Array(repeating: nil, count: Limits.listings) + [429])

        let waits = ProviderWaits(fixture.shard.context, fixture.shard.queries.nodes)
        var answers: [LookupAnswer] = []
        let lookup = PushLookup(
            key: "KEY0000001", topic: Samples.topic, environment: .production,
            identity: NotificationIdentity(high: 1, low: 2), query: "")
        for _ in 0...Limits.pushLookups { waits.answer(lookup, now: 1) { answers.append($0) } }
        #expect(answers == [.failure(.tooManyRequests)])
        waits.drain()
        #expect(answers.count == Limits.pushLookups + 1 && answers.last == .failure(.shutdown))
        var tries = Limits.pushLookups
        while answers.last == .failure(.shutdown) {
            waits.answer(lookup, now: 1) { answers.append($0) }
            waits.drain()
            tries += 1
        }
        #expect(tries == Limits.pushLookupRate.atOnce + 1 && answers.last == .failure(.tooManyRequests))
        waits.answer(lookup, now: 1_000_000_001) { answers.append($0) }
        waits.drain()
        #expect(answers.last == .failure(.shutdown))
    }

    @Test("is answered at once when the relay ends")
    func drain() throws {
        let fixture = try ProviderFixture(lookups: LookupPermissions(keys: ["KEY0000001"]), trace: recorder())
        let stream = try fixture.lookUp(Self.path)
        try fixture.run()
        fixture.drain()
        try fixture.run()
        #expect(fixture.answers.all[stream]?.body == #"{"reason":"Shutdown"}"#)
    }
}
