import PostriderClients
import PostriderEndpoints
import PostriderHTTP2
import Testing

@testable import PostriderTransport

@Suite("A request client whose connection ends")
struct RequestClientEndTests {
    let loop: EventLoop
    init() throws { loop = try EventLoop() }

    @Test("learns from GOAWAY which requests were not touched; the others are still answered")
    func goaway() throws {
        var settings = SessionSettings()
        settings.maxConcurrentStreams = 2
        let server = try FakeServer(on: loop, settings: settings)
        let caller = Caller(try server.place, loop)
        var first: FakeSession.Request?
        server.onRequest = { session, request in
            guard request.head.text(of: ":path") == "/first" else { return session.answer(request.stream) }
            first = request
            session.endpoint.streams.goaway()
            // One request is being sent when the GOAWAY comes, and one waits.
            for _ in 0..<2 { #expect(throws: Never.self) { try caller.send("/late") } }
        }
        try caller.send("/warm")
        loop.turn { caller.all != nil }
        try caller.send("/first")
        loop.turn { caller.outcomes.count == 3 }
        #expect(!caller.client.takesRequests)
        #expect(throws: ClientError.unprocessed) { try caller.send() }
        server.sessions[0].answer(try #require(first).stream)
        loop.turn { caller.outcomes.count == 4 && server.sessions[0].isGone }
        let outcomes = (0..<4).map { caller.outcomes[$0] }
        #expect(
            outcomes == [
                [.success("200 ")], [.success("200 ")], [.failure(.unprocessed)], [.failure(.unprocessed)],
            ])
    }

    @Test("completes every request once when the server dies", arguments: [false, true])
    func death(_ hasBegunToAnswer: Bool) throws {
        var settings = SessionSettings()
        settings.maxConcurrentStreams = 5
        let server = try FakeServer(on: loop, settings: settings)
        server.onRequest = { session, request in
            if request.head.text(of: ":path") == "/warm" { return session.answer(request.stream) }
            if hasBegunToAnswer { session.endpoint.streams.openResponse(request.stream, [":status": "200"]) }
            if session.requests.count == 5 { session.die() }
        }
        let caller = Caller(try server.place, loop)
        try caller.send("/warm")
        loop.turn { caller.all != nil }
        for _ in 0..<8 { try caller.send() }
        loop.turn { caller.all != nil }
        loop.turnAFewTimes()
        let failures = (caller.all ?? []).dropFirst().map { outcome in
            switch outcome {
            case .failure(.disconnected): "may have arrived"
            case .failure(.notConnected): "was not sent"
            default: "\(outcome)"
            }
        }
        #expect(failures.count { $0 == "may have arrived" } == 5)
        #expect(failures.count { $0 == "was not sent" } == 3)
    }

    @Test("tells a request that was refused from one that was given up")
    func resets() throws {
        let server = try FakeServer(on: loop)
        server.onRequest = { session, request in
            let isRefused = request.head.text(of: ":path") == "/refused"
            session.endpoint.streams.reset(
                request.stream, errorCode: isRefused ? ErrorCode.refusedStream : ErrorCode.internalError)
        }
        let caller = Caller(try server.place, loop)
        try caller.send("/refused")
        try caller.send("/broken")
        loop.turn { caller.all != nil }
        #expect(caller.all == [.failure(.unprocessed), .failure(.reset(errorCode: ErrorCode.internalError))])
    }

    @Test("may be used from inside a completion, also when that tells of the end")
    func nesting() throws {
        let server = try FakeServer(on: loop)
        server.onRequest = { session, request in
            if request.head.text(of: ":path") == "/1" {
                session.answer(request.stream)
            } else {
                session.die()
            }
        }
        let client = RequestClient(to: try server.place, on: loop)
        var log: [String] = []
        client.onClose = { _ in log.append("closed") }
        func send(_ path: String, then: @escaping () -> Void) {
            do {
                try client.send(client.makeHead("GET", path)) { _ in
                    log.append(path)
                    then()
                }
            } catch {
                log.append("no \(path)")
            }
        }
        send("/1") {
            send("/2") {
                send("/3") {}
                client.close()
            }
        }
        loop.turn { log.count == 4 }
        #expect(log == ["/1", "/2", "no /3", "closed"])
    }

    @Test("fails what is under way when it is closed or dropped", arguments: [0, 1, 2])
    func ending(_ turns: Int) throws {
        let server = try FakeServer(on: loop)
        var outcomes: [ClientError?] = []
        var client: RequestClient? = RequestClient(to: try server.place, on: loop)
        try client?.send(client?.makeHead("GET", "/") ?? [:]) {
            if case .failure(let error) = $0 { outcomes.append(error) } else { outcomes.append(nil) }
        }
        loop.turn(times: turns)
        client?.close()
        client = nil
        loop.turn { !outcomes.isEmpty }
        loop.turnAFewTimes()
        #expect(outcomes.count == 1)
        #expect(outcomes.first ?? nil != nil)
        loop.turn { loop.connectionCount == 0 || server.sessions.allSatisfy(\.isGone) }
    }
}
