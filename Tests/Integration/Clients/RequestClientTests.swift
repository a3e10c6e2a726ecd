import PostriderClients
import PostriderHTTP2
import Testing

@testable import PostriderTransport

@Suite("A request client")
struct RequestClientTests {
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
