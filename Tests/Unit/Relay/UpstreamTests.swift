import PostriderCaptures
import PostriderHTTP2
import PostriderMetrics
import PostriderNotifications
import PostriderRules
import PostriderTransport
import RelayFixtures
import Synchronization
import Testing

@testable import PostriderRelay

/// What a provider gets from a relay that passes requests on.
@Suite("A provider's connection to a relay that passes requests on")
struct UpstreamTests {
    private static func fixture(
        _ result: UpstreamResult, afterMilliseconds delay: Int = 0, rules: [PushRule] = []
    ) throws -> (fixture: ProviderFixture, bench: TestBench, server: ScriptedUpstream) {
        let server = ScriptedUpstream(result, afterMilliseconds: delay)
        let bench = TestBench(rules: RuleList(rules: rules), upstream: server) {
            text throws(TestBench.RuleMistake) in throw TestBench.RuleMistake(text)
        }
        return (try ProviderFixture(bench: bench), bench, server)
    }

    private static func capture(_ bench: TestBench) throws -> Capture {
        let query = try CaptureQuery("last=1")
        return try #require(bench.captures(query).first)
    }

    /// The pushes that are counted, by outcome and reason.
    private static func counts(_ fixture: ProviderFixture) throws -> [String: UInt64] {
        var report = ShardReport()
        report += fixture.report
        let pushes = try #require(report.pushFamilies.first { $0.name == "postrider_pushes_total" })
        let pairs = pushes.samples.compactMap { sample -> (String, UInt64)? in
            guard case .unsigned(let count) = sample.value, count > 0 else { return nil }
            return (sample.labels.map(\.value).joined(separator: " "), count)
        }
        return Dictionary(uniqueKeysWithValues: pairs)
    }

    @Test("passes the request on as it came, and the answer back as it was given", arguments: [0, 50])
    func passing(_ delay: Int) throws {
        let fields = [
            Capture.Field(name: "apns-id", value: "ID-OF-THE-OTHER"),
            Capture.Field(name: "retry-after", value: "9"), Capture.Field(name: "x-other", value: "y"),
        ]
        let body = Array(#"{"reason":"Unregistered","timestamp":12}"#.utf8)
        let (fixture, bench, server) = try Self.fixture(
            .response(status: 410, fields: fields, body: body), afterMilliseconds: delay)
        let stream = try fixture.push(["apns-id": nil, "x-own": "z", "authorization": "bearer of.no.worth"])
        try fixture.run()
        if delay > 0 {
            #expect(fixture.answers.status(stream) == nil)
            fixture.advance(byMilliseconds: delay)
            try fixture.run()
        }
        #expect(fixture.answers.status(stream) == 410)
        #expect(fixture.answers.all[stream]?.fields["apns-id"] == "ID-OF-THE-OTHER")
        #expect(fixture.answers.all[stream]?.body == String(decoding: body, as: UTF8.self))
        let request = try #require(server.requests.first)
        #expect(request.method == "POST" && request.path.hasPrefix("/3/device/"))
        #expect(request.body == Array("{}".utf8))
        #expect(request.fields.contains(Capture.Field(name: "x-own", value: "z")))
        #expect(request.fields.contains(Capture.Field(name: "authorization", value: "bearer of.no.worth")))
        #expect(!request.fields.contains { $0.name.hasPrefix(":") || $0.name == "apns-id" })
        let capture = try Self.capture(bench)
        #expect(capture.outcome == .forwarded && capture.identity == "ID-OF-THE-OTHER")
        let answer = try #require(capture.answer)
        #expect(answer.status == 410 && answer.reason == "Unregistered" && answer.timestamp == 12)
        #expect(answer.retryAfter == 9 && answer.headers == fields && answer.body == body)
        #expect(try Self.counts(fixture) == ["passed_on ": 1])
    }

    @Test("passes on requests about channels, too")
    func channels() throws {
        let (fixture, bench, server) = try Self.fixture(.response(status: 204, fields: [], body: []))
        let stream = try fixture.ask("DELETE", "/channels")
        try fixture.run()
        #expect(fixture.answers.status(stream) == 204 && server.requests.first?.method == "DELETE")
        #expect(try Self.capture(bench).outcome == .forwarded)
        #expect(try Self.counts(fixture).isEmpty)
    }

    @Test("does what a rule says first")
    func rules() throws {
        let answer = ScriptedAnswer(status: 503, reason: "ServiceUnavailable")
        let rule = PushRule(effect: RuleEffect(.answer(answer)))
        let (fixture, bench, server) = try Self.fixture(
            .response(status: 200, fields: [], body: []), rules: [rule])
        let stream = try fixture.push()
        try fixture.run()
        #expect(fixture.answers.status(stream) == 503 && server.requests.isEmpty)
        #expect(try Self.capture(bench).outcome == .scripted)
    }

    @Test("resets the stream if the other server does")
    func resets() throws {
        let (fixture, bench, _) = try Self.fixture(.reset(errorCode: 11))
        let stream = try fixture.push()
        try fixture.run()
        let reset = try #require(fixture.frames.first { $0.kind == .reset })
        #expect(reset.stream == UInt32(stream) && reset.payload == [0, 0, 0, 11])
        let capture = try Self.capture(bench)
        #expect(capture.outcome == .unanswered && capture.answer == nil)
        #expect(capture.upstreamError == "the server reset the stream with HTTP/2 error 11")
        #expect(try Self.counts(fixture).isEmpty)
    }

    @Test(
        "answers 503 if the other server did not get the request, and 500 if it may have",
        arguments: [
            (UpstreamResult.notSent("there is no connection"), 503, "ServiceUnavailable"),
            (.lost("there was no answer in time"), 500, "InternalServerError"),
        ])
    func away(_ result: UpstreamResult, _ status: Int, _ reason: String) throws {
        let (fixture, bench, _) = try Self.fixture(result)
        let stream = try fixture.push()
        try fixture.run()
        #expect(fixture.answers.status(stream) == status)
        #expect(fixture.answers.all[stream]?.body == #"{"reason":"\#(reason)"}"#)
        let capture = try Self.capture(bench)
        #expect(capture.outcome == .unanswered && capture.upstreamError == result.error)
        #expect(capture.answer?.reason == reason)
        #expect(try Self.counts(fixture) == ["rejected \(reason)": 1])
        let warnings = fixture.end().filter { $0.level == .warning }
        #expect(warnings.count == (status == 503 ? 1 : 0))
    }

    @Test("refuses a body that is too large to be kept, and does not pass it on")
    func large() throws {
        let (fixture, _, server) = try Self.fixture(.response(status: 200, fields: [], body: []))
        let body = [UInt8](repeating: 0x20, count: Limits.voipPayloadBytes + 1)
        let stream = try fixture.push(body: body)
        try fixture.run()
        #expect(fixture.answers.status(stream) == 413 && server.requests.isEmpty)
    }

    @Test("gives the rest of a long answer in further frames")
    func long() throws {
        let body = [UInt8](repeating: 0x61, count: 40_000)
        let (fixture, bench, _) = try Self.fixture(.response(status: 200, fields: [], body: body))
        let stream = try fixture.push()
        try fixture.run()
        #expect(fixture.answers.all[stream]?.body.utf8.count == 40_000)
        #expect(try Self.capture(bench).answer?.body.count == Limits.captureAnswerBytes)
    }
}

/// A server that gives each request the same result.
private final class ScriptedUpstream: Upstream {
    let place = "upstream.test:2197"
    private let result: UpstreamResult
    private let delay: Int
    private let received = Mutex<[UpstreamRequest]>([])

    init(_ result: UpstreamResult, afterMilliseconds delay: Int) {
        self.result = result
        self.delay = delay
    }

    var requests: [UpstreamRequest] { received.withLock { $0 } }

    func makeConnection(on scheduler: any Scheduler) -> any UpstreamConnection {
        Connection { [self] request, completion in
            received.withLock { $0.append(request) }
            guard delay > 0 else {
                completion(result)
                return nil
            }
            let timer = scheduler.makeTimer { [result] in completion(result) }
            timer.arm(afterMilliseconds: delay)
            return timer
        }
    }

    private final class Connection: UpstreamConnection {
        typealias Answer = (UpstreamRequest, @escaping (UpstreamResult) -> Void) -> (any LoopTimer)?
        private let answer: Answer
        private var timers: [any LoopTimer] = []

        init(_ answer: @escaping Answer) { self.answer = answer }

        func send(_ request: UpstreamRequest, completion: @escaping (UpstreamResult) -> Void) {
            if let timer = answer(request, completion) { timers.append(timer) }
        }
    }
}
