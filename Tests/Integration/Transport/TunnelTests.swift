import PostriderProxies
import PostriderSystem
import Testing

@testable import PostriderTransport

@Suite("A connection through a proxy")
struct TunnelTests {
    /// A proxy that answers as it is told, and then passes on what it gets to a server.
    private final class ScriptedProxy {
        let loop: EventLoop
        private(set) var address: SocketAddress
        /// What the client has sent before the tunnel stood, message by message.
        private(set) var asked: [[UInt8]] = []
        /// What is still to be answered, one answer for each message of the client.
        private var answers: [[UInt8]]
        private let server: SocketAddress?
        private let closes: Bool
        private var upstream: Probe?

        init(
            _ loop: EventLoop, answers: [[UInt8]], to server: SocketAddress? = nil, closes: Bool = false
        ) throws {
            self.loop = loop
            self.answers = answers
            self.server = server
            self.closes = closes
            address = try SocketAddress("127.0.0.1:0")
            address = try loop.listen(address) { [unowned self] _ in makeClient() }.address
        }

        func proxy(_ kind: ProxyProtocol, as credentials: ProxyCredentials? = nil) -> Proxy {
            Proxy(kind, at: .address(address), as: credentials)
        }

        private func makeClient() -> Probe {
            let client = Probe()
            client.onInput = { [unowned self] in answer($0) }
            client.onEnd = { [unowned self] client in
                client.wire?.close(.peerClosed)
                upstream?.wire?.close(.peerClosed)
            }
            return client
        }

        private func answer(_ client: Probe) {
            let input = client.input
            client.input = []
            if let upstream { return upstream.send(input) }
            asked.append(input)
            guard !answers.isEmpty else { return }
            client.send(answers.removeFirst())
            guard answers.isEmpty else { return }
            if closes { client.wire?.close(.localClose) }
            guard let server else { return }
            let probe = Probe()
            probe.onInput = { [unowned client] probe in
                client.send(probe.input)
                probe.input = []
            }
            probe.onEnd = { [unowned client] _ in client.wire?.close(.peerClosed) }
            upstream = probe
            loop.connect(to: server, session: probe)
        }
    }

    private static let established = Array("HTTP/1.1 200 Connection established\r\n\r\n".utf8)
    private static let socksReply: [UInt8] = [5, 0, 0, 1, 127, 0, 0, 1, 0, 1]
    private static let relay = Destination.host("localhost", port: 5223)

    /// Dials through a proxy until the outcome is there.
    private func dial(
        _ loop: EventLoop, through proxy: Proxy, _ tls: TestTLS, serverName: String = "localhost",
        timeoutMilliseconds: Int = 10_000
    ) -> Probe {
        let client = Probe()
        _ = loop.dial(
            Self.relay, resolver: SystemResolver(), tls: (tls.client, serverName), through: proxy,
            timeoutMilliseconds: timeoutMilliseconds, session: client)
        loop.turn { client.openings == 1 || !client.reasons.isEmpty }
        loop.turnAFewTimes()
        return client
    }

    @Test(
        "carries TLS with the far end, whose certificate has the far end's name",
        arguments: [
            (.http, [established]), (.socks5, [[5, 0], socksReply]),
            (.socks5, [[5, 2], [1, 0], socksReply]),
        ] as [(ProxyProtocol, [[UInt8]])])
    func tunnel(_ kind: ProxyProtocol, _ answers: [[UInt8]]) throws {
        let (loop, tls) = (try EventLoop(), try TestTLS())
        let server = Probe.echo()
        let listener = try loop.listen(SocketAddress("127.0.0.1:0"), tls: tls.server) { _ in server }
        let proxy = try ScriptedProxy(loop, answers: answers, to: listener.address)
        let client = dial(
            loop, through: proxy.proxy(kind, as: ProxyCredentials(user: "u", password: "p")), tls)
        #expect(client.openings == 1 && client.reasons.isEmpty)
        let bytes = pattern(300_000)
        client.send(bytes)
        loop.turn { client.input.count == bytes.count }
        #expect(client.input == bytes)
        client.wire?.close(.localClose)
        loop.turn { client.reasons == [.localClose] && server.reasons.count == 1 }
        // The name was not looked up on this side.
        #expect(proxy.asked.last?.contains(subsequence: Array("localhost".utf8)) == true)
    }

    @Test("fails where the far end has another name than the one that was dialled")
    func otherName() throws {
        let (loop, tls) = (try EventLoop(), try TestTLS())
        let listener = try loop.listen(SocketAddress("127.0.0.1:0"), tls: tls.server) { _ in Probe() }
        let proxy = try ScriptedProxy(loop, answers: [Self.established], to: listener.address)
        let client = dial(loop, through: proxy.proxy(.http), tls, serverName: "relay.example.org")
        guard case .handshakeFailed(let why, _)? = client.reasons.first else {
            Issue.record("\(client.reasons)")
            return
        }
        #expect(why.contains("hostname mismatch"), "\(why)")
    }

    @Test("uses another address of the proxy where one does not answer")
    func addresses() throws {
        let (loop, tls) = (try EventLoop(), try TestTLS())
        let server = Probe.echo()
        let listener = try loop.listen(SocketAddress("127.0.0.1:0"), tls: tls.server) { _ in server }
        let proxy = try ScriptedProxy(loop, answers: [Self.established], to: listener.address)
        // On a machine with IPv6 the name has two addresses, of which only one is the proxy's.
        let port = try #require(proxy.address.port)
        let client = dial(
            loop, through: Proxy(.http, at: .host("localhost", port: port), as: nil), tls)
        #expect(client.openings == 1)
    }

    @Test(
        "that does not come about says what the proxy did",
        arguments: [
            (
                .http, ["HTTP/1.1 403 Filtered\r\n\r\n"],
                "forbids the connection (403 Filtered): have it allow CONNECT to localhost:5223"
            ),
            (
                .http, ["220 smtp\r\n"],
                "does not answer as an HTTP proxy does: is it a proxy, and is its protocol http?"
            ),
            (
                .http, ["HTTP/1.1 200 OK\r\n\r\nmore"],
                "sent bytes of its own after its answer, which no proxy may"
            ),
            (.http, [""], "closed the connection before it answered"),
            (
                .socks5, ["\u{5}\u{0}", "\u{5}\u{4}"],
                "does not connect to localhost:5223 (host unreachable, reply 4)"
            ),
        ] as [(ProxyProtocol, [String], String)])
    func refusals(_ kind: ProxyProtocol, _ answers: [String], _ sentence: String) throws {
        let (loop, tls) = (try EventLoop(), try TestTLS())
        let proxy = try ScriptedProxy(loop, answers: answers.map { Array($0.utf8) }, closes: true)
        let client = dial(loop, through: proxy.proxy(kind), tls)
        #expect(client.reasons == [.proxyFailed("the proxy \(proxy.proxy(kind)) \(sentence)")])
        #expect(client.openings == 0)
    }

    @Test("does not wait longer than it may for a proxy that says nothing")
    func silence() throws {
        let (loop, tls) = (try EventLoop(), try TestTLS())
        let proxy = try ScriptedProxy(loop, answers: [])
        let client = dial(loop, through: proxy.proxy(.http), tls, timeoutMilliseconds: 50)
        let sentence = "the proxy \(proxy.proxy(.http)) did not connect to localhost:5223 within 0.05 s"
        #expect(client.reasons == [.proxyFailed(sentence)])
    }

    @Test("says that the proxy cannot be reached")
    func unreachable() throws {
        let (loop, tls) = (try EventLoop(), try TestTLS())
        let listener = try loop.listen(SocketAddress("127.0.0.1:0")) { _ in nil }
        listener.close()
        let proxy = Proxy(.socks5, at: .address(listener.address), as: nil)
        let client = dial(loop, through: proxy, tls)
        let sentence = "the proxy \(proxy) cannot be reached: Connection refused"
        #expect(client.reasons == [.proxyFailed(sentence)])
    }

    @Test("can be given up before it stands, and is over with its loop", arguments: [true, false])
    func cancellation(_ isGivenUp: Bool) throws {
        let (loop, tls) = (try EventLoop(), try TestTLS())
        let proxy = try ScriptedProxy(loop, answers: [])
        let client = Probe()
        let dialing = loop.dial(
            Self.relay, resolver: SystemResolver(), tls: (tls.client, "localhost"),
            through: proxy.proxy(.http), session: client)
        loop.turn { !proxy.asked.isEmpty }
        if isGivenUp {
            dialing.cancel()
            loop.turn { !client.reasons.isEmpty }
        } else {
            loop.stop()
            loop.run()
        }
        #expect(client.reasons == [isGivenUp ? .localClose : .loopStopped])
    }
}

extension [UInt8] {
    fileprivate func contains(subsequence: [UInt8]) -> Bool {
        indices.contains { self[$0...].starts(with: subsequence) }
    }
}
