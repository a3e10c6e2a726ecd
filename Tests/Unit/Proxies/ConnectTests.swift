import PostriderProxies
import Testing

@Suite("CONNECT to a proxy")
struct ConnectTests {
    private func talk(_ answer: String, as user: ProxyCredentials? = nil) -> Talk {
        Talk(TunnelHandshake(with: .http, to: relay, as: user), [Array(answer.utf8)])
    }

    @Test("names the target twice, as RFC 9110 wants it")
    func request() {
        let handshake = TunnelHandshake(with: .http, to: relay)
        #expect(
            handshake.start()
                == Array(
                    "CONNECT relay.example.org:5223 HTTP/1.1\r\nHost: relay.example.org:5223\r\n\r\n".utf8))
    }

    @Test("puts addresses of IPv6 into brackets, and only those")
    func addresses() {
        let four = TunnelTarget(address: [192, 0, 2, 1], text: "192.0.2.1", port: 443)
        let six = TunnelTarget(address: [UInt8](repeating: 0, count: 15) + [1], text: "::1", port: 443)
        #expect(four.description == "192.0.2.1:443")
        #expect(six.description == "[::1]:443")
    }

    @Test("tells user and password in Base64, as in the example of RFC 7617")
    func authorization() throws {
        let aladdin = try #require(ProxyCredentials(user: "Aladdin", password: "open sesame"))
        let text = String(
            decoding: TunnelHandshake(with: .http, to: relay, as: aladdin).start(), as: UTF8.self)
        #expect(text.contains("\r\nProxy-Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n\r\n"))
    }

    @Test(
        "is answered by any status of success, whatever fields stand below it",
        arguments: [
            "HTTP/1.1 200 Connection established\r\n\r\n",
            "HTTP/1.0 200\r\n\r\n",
            "HTTP/1.1 204 \r\n\r\n",
            "HTTP/1.1 200 OK\r\nVia: 1.1 tinyproxy\r\nContent-Length: 7\r\nProxy-Agent: x\r\n\r\n",
            "HTTP/1.1 200 OK\n\n",
            "HTTP/1.1 100 Continue\r\nX: 1\r\n\r\nHTTP/1.1 102 Wait\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
        ])
    func success(_ answer: String) {
        let whole = talk(answer)
        #expect(whole.isEstablished && whole.failure == nil)
        for pieces in cuts(of: Array(answer.utf8)) {
            #expect(Talk(TunnelHandshake(with: .http, to: relay), pieces) == whole)
        }
    }

    @Test(
        "gets one sentence for each refusal",
        arguments: [
            (
                "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"x\"\r\n\r\n",
                "asks for a user and a password (407 Proxy Authentication Required): give a user in 'proxy' "
                    + "and the password in 'proxy-password-file'"
            ),
            (
                "HTTP/1.1 407 No\r\nProxy-Authenticate: Negotiate\r\nproxy-authenticate: NTLM\r\n\r\n",
                "asks for authentication by Negotiate or NTLM (407 No), but only Basic is supported: have it "
                    + "accept Basic, or connections from this machine"
            ),
            (
                "HTTP/1.1 403 Filtered\r\n\r\n<html>no</html>",
                "forbids the connection (403 Filtered): have it allow CONNECT to relay.example.org:5223"
            ),
            (
                "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n",
                "cannot reach relay.example.org:5223 (502 Bad Gateway)"
            ),
            ("HTTP/1.1 504\r\n\r\n", "cannot reach relay.example.org:5223 (504)"),
            (
                "HTTP/1.1 400 Bad Request\r\n\r\n",
                "does not connect to relay.example.org:5223 (400 Bad Request)"
            ),
            (
                "HTTP/1.1 302 Found\r\nLocation: http://portal/\r\n\r\n",
                "does not connect to relay.example.org:5223 (302 Found)"
            ),
        ])
    func refusals(_ answer: String, _ sentence: String) {
        #expect(talk(answer).failure == sentence)
        for pieces in cuts(of: Array(answer.utf8)) {
            #expect(Talk(TunnelHandshake(with: .http, to: relay), pieces).failure == sentence)
        }
    }

    @Test("says that user and password are wrong where there were some")
    func wrongPassword() {
        let answer = "HTTP/1.1 407 Again\r\nProxy-Authenticate: basic realm=x\r\n\r\n"
        let failure = talk(answer, as: credentials).failure
        #expect(failure == "does not accept the user and the password (407 Again)")
        let other = talk("HTTP/1.1 401 Unauthorized\r\n\r\n", as: credentials).failure
        #expect(other == "does not accept the user and the password (401 Unauthorized)")
    }

    @Test("counts what a proxy has said before it closed the connection in the middle of the head")
    func endInHead() {
        #expect(
            talk("HTTP/1.1 403 No\r\nServer: x").failure
                == "forbids the connection (403 No): have it allow CONNECT to relay.example.org:5223")
        #expect(talk("HTTP/1.1 200 OK\r\nServer: x").failure == "closed the connection before it answered")
        #expect(talk("HTTP/1.").failure == "closed the connection before it answered")
        #expect(talk("").failure == "closed the connection before it answered")
    }

    @Test(
        "is not taken for answered by what is no HTTP/1",
        arguments: [
            "SSH-2.0-OpenSSH_9.2\r\n", "HTTP/2 200 OK\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n",
            "HTTP/1.1 2000 OK\r\n\r\n", "HTTP/1.1  200 OK\r\n\r\n", "HTTP/1.1 +20 OK\r\n\r\n",
            "HTTP/1.1 099 OK\r\n\r\n", "HTTP/1.11 200 OK\r\n\r\n", "\r\n\r\n", "\u{5}\u{0}",
            "220 mail ESMTP\r\n",
        ])
    func strangers(_ answer: String) {
        let sentence = "does not answer as an HTTP proxy does: is it a proxy, and is its protocol http?"
        #expect(talk(answer).failure == sentence)
        for pieces in cuts(of: Array(answer.utf8)) {
            #expect(Talk(TunnelHandshake(with: .http, to: relay), pieces).failure == sentence)
        }
    }

    @Test("does not wait for the end of a line that is no answer's")
    func strangerWithoutEnd() {
        let talk = Talk(TunnelHandshake(with: .http, to: relay), [Array("SSH".utf8)], ends: false)
        #expect(talk.failure?.hasPrefix("does not answer as an HTTP proxy does") == true)
    }

    @Test("breaks off where bytes follow the answer, for the far end has not been asked yet")
    func excess() {
        #expect(
            talk("HTTP/1.1 200 OK\r\n\r\nX").failure
                == "sent bytes of its own after its answer, which no proxy may")
    }

    @Test("reads no more than its bound, in one line or many, interim answers included")
    func bound() {
        let sentence = "answers with a head of more than 16384 bytes"
        let line = "HTTP/1.1 200 OK\r\n" + String(repeating: "a", count: 20_000)
        #expect(talk(line).failure == sentence)
        let fields = "HTTP/1.1 200 OK\r\n" + String(repeating: "a: b\r\n", count: 4_000) + "\r\n"
        #expect(talk(fields).failure == sentence)
        #expect(talk(String(repeating: "HTTP/1.1 100 C\r\n\r\n", count: 2_000)).failure == sentence)
        let head = "HTTP/1.1 200 OK\r\n"
        let longest = head + String(repeating: "a", count: 16_384 - head.utf8.count - 4) + "\r\n\r\n"
        #expect(talk(longest).isEstablished)
    }

    @Test("shows of the proxy's own words what is printable, and not too much of it")
    func words() {
        #expect(
            talk("HTTP/1.1 500 a\u{1B}[31mred\r\n\r\n").failure
                == "does not connect to relay.example.org:5223 (500 a)")
        let long = talk("HTTP/1.1 500 " + String(repeating: "x", count: 5_000) + "\r\n\r\n").failure
        #expect((long?.utf8.count ?? 0) < 200)
        let schemes = (0..<100).map { "Proxy-Authenticate: s\($0)" + String(repeating: "y", count: 90) }
        let many = talk("HTTP/1.1 407\r\n" + schemes.joined(separator: "\r\n") + "\r\n\r\n").failure
        #expect((many?.utf8.count ?? 0) < 1_000)
    }
}

@Suite("Credentials for a proxy")
struct ProxyCredentialsTests {
    @Test("never show the password")
    func description() { #expect("\(credentials)" == "fleet") }

    @Test(
        "are what both protocols can carry",
        arguments: [
            ("", "x"), ("x", ""), ("a:b", "x"), ("x\r\ny", "x"), ("x", "y\n"),
            (String(repeating: "u", count: 256), "x"), ("x", String(repeating: "p", count: 256)),
        ])
    func mistakes(_ user: String, _ password: String) {
        #expect(ProxyCredentials(user: user, password: password) == nil)
    }

    @Test("may have a colon in the password, and letters of any script")
    func anyLetters() { #expect(ProxyCredentials(user: "jörg", password: "a:ü") != nil) }
}
