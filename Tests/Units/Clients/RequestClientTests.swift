import Clients
import Endpoints
import HTTP2
import Testing

@testable import Transport

@Suite("A request client")
struct RequestClientTests {
    typealias Outcome = Result<String, ClientError>

    /// A client that notes how often each of its requests was completed, and how.
    final class Caller {
        let client: RequestClient
        var outcomes: [Int: [Outcome]] = [:]
        private var count = 0

        init(_ place: Server, _ loop: EventLoop, _ bounds: RequestClient.Bounds = .init()) {
            client = RequestClient(to: place, on: loop, bounds: bounds)
        }

        func send(_ path: String = "/", body: String = "", timeoutMilliseconds: Int = 20_000) throws {
            let number = count
            count += 1
            let head = client.makeHead("POST", path)
            try client.send(head, body: Array(body.utf8), timeoutMilliseconds: timeoutMilliseconds) {
                self.outcomes[number, default: []].append(
                    $0.map { "\($0.status) \(String(decoding: $0.body, as: UTF8.self))" })
            }
        }

        /// The outcomes in the order of the requests, if each was completed exactly once.
        var all: [Outcome]? {
            let lists = (0..<count).compactMap { outcomes[$0] }
            return lists.count == count && lists.allSatisfy { $0.count == 1 } ? lists.map { $0[0] } : nil
        }
    }

    let loop: EventLoop
    init() throws { loop = try EventLoop() }

    @Test("gets the answer to what it sent, over TLS and over a Unix socket", arguments: [true, false])
    func answers(_ isSecure: Bool) throws {
        let server = try FakeServer(on: loop, tls: isSecure ? TestTLS.shared.get() : nil)
        server.onRequest = { session, request in
            let head = request.head
            let words = [":method", ":scheme", ":authority", ":path"].map { head.text(of: $0) ?? "" }
            let body = String(decoding: request.body, as: UTF8.self)
            session.answer(request.stream, status: 201, body: "\(words.joined(separator: " ")) \(body)")
        }
        let caller = Caller(try server.place, loop)
        try caller.send("/3/device/ab", body: "{}")
        loop.turn { caller.all != nil }
        let port = try server.address.port ?? 0
        let expected = isSecure ? "https 127.0.0.1:\(port)" : "http localhost"
        #expect(caller.all == [.success("201 POST \(expected) /3/device/ab {}")])
    }

    @Test("tells a request that nobody listens, and takes none any more")
    func refused() throws {
        let server = try FakeServer(on: loop)
        let place = try server.place
        server.stopListening()
        let caller = Caller(place, loop)
        var reasons: [CloseReason] = []
        caller.client.onClose = { reasons.append($0) }
        try caller.send()
        try caller.send()
        loop.turn { caller.all != nil }
        for outcome in caller.all ?? [] {
            guard case .failure(.notConnected(.refused)) = outcome else {
                Issue.record("\(outcome)")
                return
            }
        }
        #expect(reasons.count == 1)
        #expect(!caller.client.takesRequests)
        #expect(throws: ClientError.self) { try caller.send() }
    }

    @Test("does not talk to a server whose authority it does not trust, or that has another name")
    func strangers() throws {
        let server = try FakeServer(on: loop, tls: TestTLS.shared.get())
        let address = try server.address
        let others = [
            Server(.address(address), tls: try TestTLS().client),
            Server(.address(address), tls: try TestTLS.shared.get().client, name: "other.example"),
        ]
        for place in others {
            let caller = Caller(place, loop)
            try caller.send()
            loop.turn { caller.all != nil }
            guard case .failure(.notConnected(.handshakeFailed)) = caller.all?.first else {
                Issue.record("\(String(describing: caller.all))")
                return
            }
        }
        #expect(server.sessions.isEmpty)
    }

    @Test("gives up a request that is not answered in time, and only that one")
    func timeout() throws {
        let server = try FakeServer(on: loop)
        server.onRequest = { session, request in
            if request.head.text(of: ":path") == "/good" { session.answer(request.stream) }
        }
        let caller = Caller(try server.place, loop)
        try caller.send("/bad", timeoutMilliseconds: 30)
        try caller.send("/good")
        loop.turn { caller.all != nil }
        #expect(caller.all == [.failure(.timedOut), .success("200 ")])
        loop.turn { server.sessions.first?.closings.contains { $0.errorCode == ErrorCode.cancel } == true }
        #expect(caller.client.takesRequests)
    }

    @Test("gives up requests in time that could not even leave")
    func timeoutOfWaiting() throws {
        var settings = SessionSettings()
        settings.maxConcurrentStreams = 0
        let server = try FakeServer(on: loop, settings: settings)
        let caller = Caller(try server.place, loop)
        loop.turn { !server.sessions.isEmpty }
        loop.turnAFewTimes()
        for _ in 0..<3 { try caller.send(timeoutMilliseconds: 30) }
        loop.turn { caller.all != nil }
        #expect(caller.all == Array(repeating: .failure(.timedOut), count: 3))
        #expect(caller.client.openRequests == 0)
    }

    @Test("keeps no more requests under way than the server takes, and the others wait in order")
    func streamLimit() throws {
        var settings = SessionSettings()
        settings.maxConcurrentStreams = 3
        let server = try FakeServer(on: loop, settings: settings)
        var paths: [String] = []
        server.onRequest = { session, request in
            paths.append(request.head.text(of: ":path") ?? "")
            session.answer(request.stream, body: "yes")
        }
        let caller = Caller(try server.place, loop)
        for number in 0..<20 { try caller.send("/\(number)") }
        loop.turn { caller.all != nil }
        #expect(caller.all == Array(repeating: .success("200 yes"), count: 20))
        #expect(paths == (0..<20).map { "/\($0)" })
        #expect((1...3).contains(server.sessions[0].mostRequests))
    }

    @Test("refuses more than it may hold")
    func bound() throws {
        let server = try FakeServer(on: loop)
        var bounds = RequestClient.Bounds()
        bounds.requestsWaiting = 2
        let caller = Caller(try server.place, loop, bounds)
        try caller.send()
        try caller.send()
        #expect(throws: ClientError.overloaded) { try caller.send() }
    }

    @Test("refuses an answer without end")
    func largeAnswer() throws {
        let server = try FakeServer(on: loop)
        server.onRequest = { session, request in
            session.answer(request.stream, body: String(repeating: "x", count: 101))
        }
        var bounds = RequestClient.Bounds()
        bounds.responseBytes = 100
        let caller = Caller(try server.place, loop, bounds)
        try caller.send()
        loop.turn { caller.all != nil }
        #expect(caller.all == [.failure(.responseTooLarge(limit: 100))])
    }

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
            session.endpoint.setNeedsFlush()
            // On its way when the GOAWAY is; and one that waits.
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
            session.endpoint.setNeedsFlush()
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
            session.endpoint.setNeedsFlush()
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
            if request.head.text(of: ":path") == "/1" { session.answer(request.stream) } else { session.die() }
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

    @Test("finds a host by its name")
    func hostName() throws {
        let server = try FakeServer(on: loop, tls: TestTLS.shared.get())
        server.onRequest = { session, request in
            session.answer(request.stream, body: request.head.text(of: ":authority") ?? "")
        }
        let port = try server.address.port ?? 0
        let place = Server(try Destination("localhost:\(port)"), tls: try TestTLS.shared.get().client)
        let caller = Caller(place, loop)
        try caller.send()
        loop.turn { caller.all != nil }
        #expect(caller.all == [.success("200 localhost:\(port)")])
    }

    @Test("tells that a host is not found", arguments: [false, true])
    func unknownHost(_ isClosedMeanwhile: Bool) throws {
        let place = Server(try Destination("nowhere.invalid:1"), tls: try TestTLS.shared.get().client)
        let caller = Caller(place, loop)
        try caller.send()
        if isClosedMeanwhile { caller.client.close() }
        loop.turn { caller.all != nil }
        switch caller.all?.first {
        case .failure(.notConnected(.refused(let sentence))):
            #expect(!isClosedMeanwhile)
            #expect(sentence.contains("nowhere.invalid"))
        case .failure(.notConnected(.localClose)): #expect(isClosedMeanwhile)
        default: Issue.record("\(String(describing: caller.all))")
        }
    }
}
