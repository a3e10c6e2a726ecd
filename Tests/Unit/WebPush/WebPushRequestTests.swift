import PostriderCrypto
import PostriderNotifications
import Testing

@testable import PostriderWebPush

@Suite("What a Web Push request says")
struct WebPushRequestTests {
    private func request(_ fields: [String: [String]], body: [UInt8] = [1]) throws -> WebPushRequest {
        let model = ["ttl": ["60"], "content-encoding": ["aes128gcm"]].merging(fields) { $1 }
        return try WebPushRequest(body: body) { model[$0] ?? [] }
    }

    @Test("is read with its defaults")
    func defaults() throws {
        let request = try request([:])
        #expect(request.secondsToLive == 60 && request.urgency == .normal && request.topic == nil)
        #expect(!request.wantsReceipt && request.credentials == nil)
        #expect(try request.browserMessage() == WebPushMessage(.aes128gcm, [1]))
    }

    @Test("is read in any case, with white space, and among other preferences")
    func spellings() throws {
        let request = try request([
            "urgency": [" High "], "content-encoding": ["AES128GCM"],
            "prefer": ["wait=10", "return=minimal, Respond-Async;foo=1"], "topic": ["upd"],
        ])
        #expect(request.urgency == .high && request.wantsReceipt && request.topic == "upd")
    }

    @Test("is stored as long as it says, for 30 days at most, or not at all")
    func expiration() throws {
        let now = Moment(seconds: 1000)
        #expect(try request(["ttl": ["0"]]).expiration(at: now) == .nowOrNever)
        #expect(try request(["ttl": ["5"]]).expiration(at: now) == .at(Moment(seconds: 1005)))
        let longest = Moment(seconds: 1000 + 30 * 86_400)
        #expect(try request(["ttl": ["2592001"]]).expiration(at: now) == .at(longest))
        #expect(try request(["ttl": ["9223372036854775808"]]).expiration(at: now) == .at(longest))
    }

    @Test("survives the queue, whatever its encryption is")
    func stored() throws {
        let messages = [
            WebPushMessage(nil, []), WebPushMessage(.aes128gcm, [0, 255]),
            WebPushMessage(.aesgcm(encryption: "salt=é", cryptoKey: ""), [1, 2, 3]),
        ]
        for message in messages { #expect(WebPushMessage(stored: message.stored) == message) }
        for bytes in [[], [3], [0, 0], [2], [2, 0], [2, 0, 4, 65], [2, 0, 1, 255, 0, 0]] as [[UInt8]] {
            #expect(WebPushMessage(stored: bytes) == nil)
        }
        let text = String(repeating: "a", count: Limits.webPushFieldBytes)
        let largest = WebPushMessage(
            .aesgcm(encryption: text, cryptoKey: text), [UInt8](repeating: 0, count: Limits.payloadBytes))
        #expect(largest.stored.count == WebPushMessage.mostStoredBytes)
    }

    @Test(
        "names the receipt subscription that it uses again by a link with the relation of RFC 8030",
        arguments: [
            ("</r/1>; rel=\"urn:ietf:params:push:receipt\"", "/r/1"),
            ("<https://a/r/1> ; rel=urn:ietf:params:push:receipt", "https://a/r/1"),
            ("</x>; rel=next, </r/2>;rel=\"urn:ietf:params:push:receipt\"", "/r/2"),
            ("</r/1>; rel=next", nil), ("/r/1; rel=\"urn:ietf:params:push:receipt\"", nil), ("", nil),
        ] as [(String, String?)])
    func link(_ link: String, _ target: String?) throws {
        let fields = ["ttl": ["1"], "link": [link]]
        #expect(try WebPushRequest(body: []) { fields[$0] ?? [] }.receipts == target)
    }

    @Test(
        "for receipts waits as long as it says, up to a bound",
        arguments: [
            ([], 30), (["wait=0"], 0), (["wait=7"], 7), (["respond-async, Wait = 9; a=b"], 9),
            (["wait=1000"], 50), (["wait=-1"], 0), (["wait=soon"], 30), (["return=minimal", "wait=3"], 3),
        ] as [([String], Int)])
    func wait(_ prefer: [String], _ seconds: Int) { #expect(ReceiptRequest.seconds(prefer) == seconds) }

    @Test("is answered with the address of the message, and with that of the receipt if it asked for one")
    func acceptance() {
        let plain = WebPushAcceptance(location: "https://a/m/1", receipt: nil, secondsToLive: 60)
        #expect(plain.status == 201 && plain.fields.map(\.name) == ["location", "ttl"])
        let watched = WebPushAcceptance(location: "/m/1", receipt: "/r/1", secondsToLive: 0)
        #expect(watched.status == 202)
        #expect(watched.fields.last?.value == "</r/1>; rel=\"urn:ietf:params:push:receipt\"")
    }

    @Test("may come from a page of any origin")
    func preflight() {
        let fields = CORS.preflight(methods: "POST")
        #expect(fields.contains { $0 == ("access-control-allow-origin", "*") })
        #expect(fields.contains { $0 == ("access-control-allow-methods", "POST") })
        let allowed = fields.first { $0.name == "access-control-allow-headers" }?.value ?? ""
        for name in ["ttl", "urgency", "topic", "content-encoding", "authorization", "prefer"] {
            #expect(allowed.contains(name))
        }
    }
}

@Suite("A VAPID token")
struct VAPIDTests {
    private let signer = VAPIDSigner()

    private func outcome(
        _ authorization: String, keys: [String] = [],
        with verifier: VAPIDVerifier = VAPIDVerifier(origin: origin),
        at seconds: Int64 = present
    ) -> WebPushRejection? {
        do throws(WebPushRejection) {
            let credentials = try VAPIDCredentials(authorization: [authorization], keys: keys)
            try verifier.verify(credentials, for: signer.publicKey, at: Moment(seconds: seconds))
            return nil
        } catch {
            return error
        }
    }

    @Test("may be written in the ways that libraries have")
    func spellings() {
        let token = signer.token()
        let key = signer.publicKey.text
        #expect(outcome("vapid t=\(token),k=\(key)") == nil)
        #expect(outcome("Vapid k=\"\(key)\", t=\"\(token)\"") == nil)
        #expect(outcome("vapid t=\(token);k=\(key)=") == nil)
        #expect(outcome("Bearer \(token)", keys: ["dh=BNoR;p256ecdsa=\(key)"]) == nil)
        #expect(outcome("WebPush \(token)", keys: ["dh=BNoR", "p256ecdsa=\(key)"]) == nil)
        #expect(outcome("vapid t=\(signer.token(for: origin + "/")), k=\(key)") == nil)
        #expect(outcome("vapid t=\(signer.token(for: "https://PUSH.example.org:443")), k=\(key)") == nil)
    }

    @Test("that is no token, or too long, is refused")
    func nonsense() {
        let key = signer.publicKey.text
        for token in ["", "a", "a.b", "a.b.c", "e30.e30.AAAA", "..", "e30.e30.AAAA.AAAA"] {
            #expect(outcome("vapid t=\(token), k=\(key)") == .forbidden(.malformed))
        }
        #expect(outcome("vapid") == .forbidden(.malformed))
        #expect(outcome("vapid t=\(String(repeating: "a", count: 3000)), k=\(key)") == .unauthorized)
    }

    @Test("with a signature of another length is refused, though OpenSSL may read it as DER")
    func signatureForm() {
        let token = signer.token()
        let cut = token.dropLast(2)
        #expect(outcome("vapid t=\(cut), k=\(signer.publicKey.text)") == .forbidden(.wrongSignature))
    }

    @Test("is remembered, and still expires")
    func cache() {
        let verifier = VAPIDVerifier(origin: origin)
        let value = signer.authorization(signer.token(seconds: 60))
        #expect(outcome(value, with: verifier) == nil)
        #expect(outcome(value, with: verifier, at: present + 59) == nil)
        #expect(outcome(value, with: verifier, at: present + 60) == .forbidden(.expired))
    }

    @Test("is for a key that is a point on the curve")
    func keys() {
        #expect(VAPIDKey(bytes: signer.point) == signer.publicKey)
        #expect(VAPIDKey(text: signer.publicKey.text) == signer.publicKey)
        var wrong = signer.point
        wrong[64] ^= 1
        #expect(VAPIDKey(bytes: wrong) == nil)
        #expect(VAPIDKey(bytes: [4]) == nil && VAPIDKey(text: "") == nil)
        #expect(VAPIDKey(bytes: [2] + signer.point[1..<33]) == nil, "compressed points are refused")
    }
}
