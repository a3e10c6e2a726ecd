import PostriderCaptures
import PostriderNotifications
import Testing

@Suite("A captured request")
struct CaptureTests {
    @Test("is one line of JSON with its payload as it came")
    func json() {
        var capture = makeCapture(body: "{\"aps\":\n {\"badge\":1.50, \"alert\":\"a\\nb\"}}")
        capture.claims = TokenClaims(algorithm: "ES256", keyIdentifier: "K", issuer: "T", issuedAt: 12)
        capture.rule = Capture.Rule(number: 2, name: "late")
        capture.outcome = .scripted
        capture.answer = Capture.Answer(
            at: Moment(milliseconds: 1001), status: 429, reason: "TooManyRequests", retryAfter: 3)
        let headers =
            #""headers":[{"name":":path","value":"/3/device/AA01"},"#
            + #"{"name":"apns-topic","value":"com.example.app"}]"#
        let expected =
            #"{"answer":{"at":1001,"reason":"TooManyRequests","retryAfter":3,"status":429},"#
            + #""at":1000,"bodyBytes":40,"claims":{"alg":"ES256","iat":12,"iss":"T","kid":"K"},"#
            + #""connection":{"alpn":"h2","number":2,"peer":"127.0.0.1:4711"},"#
            + #""environment":"production","events":[],"#
            + headers
            + #","id":"A","number":0,"outcome":"scripted","rule":{"name":"late","number":2},"stream":5,"#
            + #""token":"aa01","topic":"com.example.app","#
            + #""payload":{"aps":  {"badge":1.50, "alert":"a\nb"}}}"#
        #expect(String(decoding: capture.json, as: UTF8.self) == expected)
    }

    @Test("has padding if there was some")
    func padding() {
        var capture = makeCapture()
        #expect(!String(decoding: capture.json, as: UTF8.self).contains("padding"))
        capture.stream.padding = 9
        #expect(String(decoding: capture.json, as: UTF8.self).contains(#""padding":9,"#))
    }

    @Test("has a body that is no JSON object as base64")
    func body() {
        let json = String(decoding: makeCapture(body: "[1]").json, as: UTF8.self)
        #expect(json.contains(#""body":"WzFd""#) && !json.contains("payload"))
        #expect(!String(decoding: makeCapture(body: "").json, as: UTF8.self).contains(#""body":"#))
    }

    /// {"alg":"ES256","kid":"DEVKEY0001"} and {"iss":"DEVTEAM001","iat":1764000000}
    private static let token =
        "eyJhbGciOiJFUzI1NiIsImtpZCI6IkRFVktFWTAwMDEifQ."
        + "eyJpc3MiOiJERVZURUFNMDAxIiwiaWF0IjoxNzY0MDAwMDAwfQ.c2ln"

    @Test("says what its provider token claims")
    func claims() {
        let claims = TokenClaims(
            algorithm: "ES256", keyIdentifier: "DEVKEY0001", issuer: "DEVTEAM001", issuedAt: 1_764_000_000)
        #expect(TokenClaims(authorization: "bearer " + Self.token) == claims)
        #expect(TokenClaims(authorization: "Bearer " + Self.token) == claims)
        for text in ["", "bearer a.b", "bearer a.b.c", "basic " + Self.token, Self.token] {
            #expect(TokenClaims(authorization: text) == nil, "\(text)")
        }
    }

    @Test("does not hold the secret of its provider")
    func masking() {
        #expect(TokenClaims.masked("bearer " + Self.token) == "bearer \(Self.token.dropLast(4))(masked)")
        #expect(TokenClaims.masked("bearer secret") == "bearer (masked)")
        #expect(TokenClaims.masked("basic dXNlcjpzZWNyZXQ=") == "basic (masked)")
        #expect(TokenClaims.masked("secret") == "(masked)")
    }
}
