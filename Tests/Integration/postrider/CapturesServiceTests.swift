import Foundation
import PostriderCaptures
import PostriderHTTP1
import PostriderNotifications
import PostriderTransport
import Testing

@testable import PostriderCommands
@testable import PostriderRelay
@testable import postrider

@Suite("Captures over HTTP/1.1")
struct CapturesServiceTests {
    private let bench = DevBench.make()

    private func service(names: [String] = []) throws -> CapturesService {
        try CapturesService(at: try SocketAddress("127.0.0.1:0"), bench, names: names)
    }

    /// A request that has been captured and answered.
    private func capture(_ topic: String = "com.example.app", isDecided: Bool = true) -> Int {
        let capture = Capture(
            at: Moment(milliseconds: 1), environment: .production,
            connection: Capture.Connection(number: 1, peer: "127.0.0.1:1"),
            stream: Capture.Stream(number: 1),
            headers: [Capture.Field(name: "apns-topic", value: topic)], claims: nil, body: Array("{}".utf8),
            bodyByteCount: 2, identity: "i")
        let number = bench.add(capture)
        if isDecided { decide(number) }
        return number
    }

    private func decide(_ number: Int) {
        bench.note(number) { $0.outcome = .captured }
        bench.captureEnded()
    }

    private func request(
        _ method: String, _ path: String, query: String = "", _ fields: [(String, String)] = [],
        host: String = "127.0.0.1:2196", body: String = ""
    ) -> HTTP1Request {
        HTTP1Request(
            method: method, path: path, query: query, fields: [("Host", host)] + fields,
            body: Array(body.utf8))
    }

    /// Answers a request that waits. It blocks a thread of its own, since those of the tests are few.
    private static func answer(_ request: HTTP1Request, by service: CapturesService) async -> HTTP1Response {
        await withCheckedContinuation { continuation in
            Foundation.Thread.detachNewThread { continuation.resume(returning: service.respond(to: request)) }
        }
    }

    private struct Listing: Decodable {
        struct Item: Decodable { let number: Int }
        let last: Int
        let isComplete: Bool
        let captures: [Item]
    }

    private func listing(_ response: HTTP1Response) throws -> Listing {
        try JSONDecoder().decode(Listing.self, from: Data(response.body.utf8))
    }

    @Test("are listed with the filters of the control socket, and removed")
    func list() throws {
        let service = try service()
        _ = capture()
        _ = capture("com.example.other")
        let all = service.respond(to: request("GET", "/v1/captures"))
        #expect(all.status == 200 && all.contentType == "application/json")
        #expect(try listing(all).captures.map(\.number) == [1, 2])
        let one = service.respond(to: request("GET", "/v1/captures", query: "topic=com.example.other"))
        #expect(try listing(one).captures.map(\.number) == [2])
        let lines = service.respond(to: request("GET", "/v1/captures", query: "format=lines"))
        #expect(lines.contentType == "application/x-ndjson")
        #expect(lines.body.split(separator: "\n").count == 2)
        #expect(service.respond(to: request("DELETE", "/v1/captures")).body == "{}")
        #expect(try listing(service.respond(to: request("GET", "/v1/captures"))).captures.isEmpty)
    }

    @Test("refuse a query that is wrong, and a path that there is not, in one sentence")
    func mistakes() throws {
        let service = try service()
        let query = service.respond(to: request("GET", "/v1/captures", query: "colour=red"))
        #expect(query.status == 400 && query.body.contains("not with 'colour'"))
        let events = service.respond(to: request("GET", "/v1/captures/events", query: "wait=5s"))
        #expect(events.status == 400 && events.body.contains("'wait' is not for events"))
        for (method, path) in [
            ("GET", "/"), ("POST", "/v1/captures"), ("GET", "/v1/devices"), ("PUT", "/v1/keys/x"),
            ("GET", "/v1/captures/"), ("DELETE", "/v1/rules"), ("GET", "v1/captures"),
        ] {
            let answer = service.respond(to: request(method, path))
            #expect(answer.status == 404 && answer.body.contains("There is no \(method) \(path) here"))
        }
    }

    @Test("take rules, and count them")
    func rules() throws {
        let service = try service()
        let rules = #"{"rules": [{"do": {"status": 503}}]}"#
        let put = service.respond(to: request("PUT", "/v1/rules", body: rules))
        #expect(put.status == 200 && put.body == #"[{"considered":0,"matched":0,"rule":1}]"#)
        #expect(service.respond(to: request("GET", "/v1/rules")).body == put.body)
        let wrong = service.respond(
            to: request("PUT", "/v1/rules", body: "rules: [{do: {status: 503}, mach: {}}]"))
        #expect(wrong.status == 400 && wrong.body.contains("did you mean 'match'?"))
        #expect(bench.ruleCounts.count == 1)
    }

    @Test("are waited for until they are there and decided")
    func wait() async throws {
        let service = try service()
        let number = capture(isDecided: false)
        let query = request("GET", "/v1/captures", query: "wait=60s")
        async let answer = Self.answer(query, by: service)
        // The query is not answered as long as somebody waits.
        while !bench.isAwaited { await Task.yield() }
        decide(number)
        let found = try listing(await answer)
        #expect(found.isComplete && found.captures.map(\.number) == [1])
        #expect(!bench.isAwaited)
    }

    @Test("are waited for no longer than was asked, and not beyond the end of the service")
    func waitEnds() async throws {
        let service = try service()
        let late = service.respond(to: request("GET", "/v1/captures", query: "wait=1ms"))
        #expect(try listing(late).isComplete == false)
        let query = request("GET", "/v1/captures", query: "wait=60s")
        async let answer = Self.answer(query, by: service)
        while !bench.isAwaited { await Task.yield() }
        service.stop()
        #expect(try listing(await answer).isComplete == false)
    }

    @Test("come as events when they are decided, each once, also after the connection was lost")
    func events() throws {
        let service = try service()
        _ = capture()
        let answer = service.respond(to: request("GET", "/v1/captures/events"))
        #expect(answer.contentType == "text/event-stream" && answer.body == ": captures follow\n\n")
        let stream = try #require(answer.stream)
        let open = capture(isDecided: false)
        _ = capture("com.example.other")
        decide(open)
        let events = String(decoding: try #require(stream.next()), as: UTF8.self)
        let lines = events.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.filter { $0.hasPrefix("id: ") } == ["id: 2", "id: 3"])
        #expect(lines.count { $0 == "event: capture" } == 2 && lines.count { $0.hasPrefix("data: {") } == 2)
        #expect(events.hasSuffix("}\n\n"))
        let again = service.respond(to: request("GET", "/v1/captures/events", [("Last-Event-ID", "2")]))
        let rest = String(decoding: try #require(again.stream?.next()), as: UTF8.self)
        #expect(rest.hasPrefix("id: 3\n"))
        let filtered = service.respond(
            to: request("GET", "/v1/captures/events", query: "topic=com.example.other&after=0"))
        let other = String(decoding: try #require(filtered.stream?.next()), as: UTF8.self)
        #expect(other.hasPrefix("id: 3\n"))
        service.stop()
        #expect(stream.next() == nil)
    }

    @Test(
        "are not streamed after what is no number of a capture",
        arguments: ["", "-1", "x", "2147483648", "9223372036854775807", "99999999999999999999"])
    func badEventNumber(_ number: String) throws {
        let service = try service()
        let answer = service.respond(to: request("GET", "/v1/captures/events", [("Last-Event-ID", number)]))
        #expect(answer.status == 400 && answer.body.contains("'Last-Event-ID' is a whole number from 0 to"))
    }

    @Test(
        "are not for pages of other sites, whatever name leads here",
        arguments: [
            ("127.0.0.1:2196", [], 200), ("localhost:2196", [], 200), ("[::1]:2196", [], 200),
            ("PUSH.test:2196", [], 200), ("push.test", [], 200),
            ("evil.example:2196", [], 403), ("127.0.0.1.evil.example", [], 403), ("", [], 403),
            ("localhost:2196", [("Origin", "http://localhost:2196")], 200),
            ("localhost:2196", [("Origin", "http://localhost:8080")], 403),
            ("localhost:2196", [("Origin", "https://evil.example")], 403),
            ("localhost:2196", [("Origin", "null")], 403),
            ("localhost:2196", [("Sec-Fetch-Site", "cross-site")], 403),
            ("localhost:2196", [("sec-fetch-site", "same-site")], 403),
            ("localhost:2196", [("Sec-Fetch-Site", "same-origin")], 200),
        ] as [(String, [(String, String)], Int)])
    func sites(_ host: String, _ fields: [(String, String)], _ status: Int) throws {
        let service = try service(names: ["push.test"])
        _ = capture()
        #expect(service.respond(to: request("GET", "/v1/captures", fields, host: host)).status == status)
        let removal = service.respond(to: request("DELETE", "/v1/captures", fields, host: host))
        #expect(removal.status == status)
        #expect(bench.captures(try CaptureQuery("")).isEmpty == (status == 200))
    }

    @Test("are not served without a Host")
    func noHost() throws {
        let service = try service()
        #expect(service.respond(to: HTTP1Request(method: "GET", path: "/v1/captures")).status == 403)
    }
}
