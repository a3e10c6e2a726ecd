import PostriderProxies
import Testing

@Suite("SOCKS 5 with a proxy")
struct SOCKS5Tests {
    private static let name: [UInt8] = [5, 1, 0, 3, 17] + Array("relay.example.org".utf8) + [0x14, 0x67]
    private static let success: [UInt8] = [5, 0, 0, 1, 127, 0, 0, 1, 0x1F, 0x90]

    private func talk(_ answers: [[UInt8]], as user: ProxyCredentials? = nil) -> Talk {
        Talk(TunnelHandshake(with: .socks5, to: relay, as: user), answers)
    }

    @Test("sends the name, which the proxy looks up, and needs no authentication where there is none")
    func name() {
        let talk = talk([[5, 0], Self.success])
        #expect(talk.sent == [[5, 1, 0], Self.name])
        #expect(talk.isEstablished && talk.failure == nil)
    }

    @Test("sends user and password as RFC 1929 has them, if the proxy chooses that")
    func credentialsAsked() {
        let talk = talk([[5, 2], [1, 0], Self.success], as: credentials)
        let message = [1, 5] + Array("fleet".utf8) + [11] + Array("open sesame".utf8)
        #expect(talk.sent == [[5, 2, 0, 2], message, Self.name])
        #expect(talk.isEstablished)
    }

    @Test("keeps the password to itself where the proxy does not ask for it")
    func credentialsNotAsked() {
        let talk = talk([[5, 0], Self.success], as: credentials)
        #expect(talk.sent == [[5, 2, 0, 2], Self.name])
        #expect(talk.isEstablished)
    }

    @Test("sends addresses as they are")
    func addresses() {
        let four = TunnelTarget(address: [192, 0, 2, 1], text: "192.0.2.1", port: 443)
        let bytes = [0x20, 0x01, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [1]
        let six = TunnelTarget(address: bytes, text: "2001:db8::1", port: 443)
        #expect(
            Talk(TunnelHandshake(with: .socks5, to: four), [[5, 0]]).sent.last
                == [5, 1, 0, 1, 192, 0, 2, 1, 1, 0xBB])
        let request = Talk(TunnelHandshake(with: .socks5, to: six), [[5, 0]]).sent.last
        #expect(request == [5, 1, 0, 4] + bytes + [1, 0xBB])
    }

    @Test(
        "reads replies with each kind of address to their end, cut anywhere",
        arguments: [
            success, [5, 0, 0, 4] + [UInt8](repeating: 9, count: 16) + [0, 1],
            [5, 0, 0, 3, 4] + Array("host".utf8) + [0, 1], [5, 0, 0, 3, 0, 0, 1],
            [5, 0, 0, 3, 255] + [UInt8](repeating: 0x61, count: 255) + [0, 1],
        ])
    func replies(_ reply: [UInt8]) {
        let whole = talk([[5, 0], reply])
        #expect(whole.isEstablished)
        for pieces in cuts(of: reply) { #expect(talk([[5], [0]] + pieces) == whole) }
        let excess = talk([[5, 0], reply + [0]])
        #expect(excess.failure == "sent bytes of its own after its answer, which no proxy may")
        let short = talk([[5, 0], reply.dropLast()])
        #expect(short.failure == "closed the connection before it answered")
    }

    @Test(
        "names each reply as RFC 1928 does",
        arguments: [
            (1, "general SOCKS server failure"), (3, "network unreachable"), (4, "host unreachable"),
            (5, "connection refused"), (6, "TTL expired"), (7, "command not supported"),
            (8, "address type not supported"), (9, "unassigned"), (255, "unassigned"),
        ] as [(UInt8, String)])
    func refusals(_ code: UInt8, _ name: String) {
        let sentence = "does not connect to relay.example.org:5223 (\(name), reply \(code))"
        // Some proxies send less than a whole reply then.
        #expect(talk([[5, 0], [5, code]]).failure == sentence)
        #expect(talk([[5, 0], [5, code, 0, 1, 0, 0, 0, 0, 0, 0]]).failure == sentence)
    }

    @Test("says what to allow where a rule of the proxy forbids the connection")
    func ruleset() {
        #expect(
            talk([[5, 0], [5, 2, 0, 1, 0, 0, 0, 0, 0, 0]]).failure
                == "forbids the connection (connection not allowed by ruleset, reply 2): have it allow "
                + "connections to relay.example.org:5223")
    }

    @Test("says what is wrong with user and password")
    func authentication() {
        #expect(
            talk([[5, 0xFF]]).failure
                == "accepts no client without authentication (no acceptable methods): give a user in "
                + "'proxy' and the password in 'proxy-password-file'")
        #expect(
            talk([[5, 0xFF]], as: credentials).failure
                == "accepts neither a user with a password nor a client without (no acceptable methods)")
        #expect(
            talk([[5, 2], [1, 1]], as: credentials).failure
                == "does not accept the user and the password (status 1)")
    }

    @Test(
        "is not taken for answered by anything else",
        arguments: [
            [Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8)], [[4, 0x5A]], [[5, 1]], [[5, 2]],
            [[5, 0], [4]],
            [[5, 0], [5, 0, 0, 2, 0]],
        ] as [[[UInt8]]])
    func strangers(_ answers: [[UInt8]]) {
        #expect(
            talk(answers).failure
                == "does not answer as a SOCKS 5 proxy does: is it a proxy, and is its protocol socks5?")
    }

    @Test("breaks off where the proxy answers what it was not asked yet")
    func early() {
        let sentence = "sent bytes of its own after its answer, which no proxy may"
        #expect(talk([[5, 0] + Self.success]).failure == sentence)
        #expect(talk([[5, 2, 1]], as: credentials).failure == sentence)
    }
}
