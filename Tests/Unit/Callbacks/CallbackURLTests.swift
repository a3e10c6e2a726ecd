import PostriderNotifications
import Testing

@testable import PostriderCallbacks

@Suite("URLs of callbacks")
struct CallbackURLTests {
    private static let allowed = [
        "https://hooks.example.com/postrider", "http://127.0.0.1:8080", "https://[2001:db8::1]:8443/a/",
    ]

    private func isAllowed(_ text: String) throws -> Bool {
        try #require(CallbackPolicy(prefixes: Self.allowed)).url(text) != nil
    }

    @Test(
        "are allowed with an allowed origin, at an allowed path or below it",
        arguments: [
            "https://hooks.example.com/postrider", "https://hooks.example.com/postrider/",
            "https://hooks.example.com/postrider/a/b?c=d/../e", "HTTPS://Hooks.Example.COM:443/postrider?x",
            "http://127.0.0.1:8080", "http://127.0.0.1:8080/", "http://127.0.0.1:8080?x=1",
            "http://127.0.0.1:8080/x",
            "https://[2001:DB8::1]:8443/a/b",
        ])
    func allowed(_ text: String) throws {
        #expect(try isAllowed(text))
    }

    @Test(
        "are not allowed if any part of it is another one, or can be read as another one",
        arguments: [
            "https://hooks.example.com/", "https://hooks.example.com/postrider2",
            "https://hooks.example.com.evil.example/postrider",
            "https://hooks.example.com@evil.example/postrider",
            "https://user:secret@hooks.example.com/postrider", "http://hooks.example.com/postrider",
            "https://hooks.example.com:8443/postrider",
            "https://evil.example/https://hooks.example.com/postrider",
            "https://hooks.example.com/postrider/../admin", "https://hooks.example.com/postrider/./x",
            "https://hooks.example.com/postrider/%2e%2e/admin",
            "https://hooks.example.com/postrider/%2E./admin",
            "https://hooks.example.com/postrider%2f..%2fadmin",
            "https://hooks.example.com/postrider\\..\\admin",
            "https://hooks.example.com/postrider#x", "https://hooks.example.com\\.evil.example/postrider",
            "https://hooks.example.com /postrider", "https://hooks.example.com/post\nrider",
            "http://127.0.0.1:80800/", "http://127.0.0.1:0/", "http://127.0.0.1:/",
            "http://127.0.0.1:8080:1/",
            "http://127.0.0.1:+8080/", "http://2130706433:8080/", "http://0x7f.1:8080/",
            "http://localhost:8080/",
            "https://[2001:db8::1/a/b", "https://[2001:db8::2]:8443/a/b", "https://[2001:db8::1]8443/a",
            "file:///etc/passwd", "gopher://127.0.0.1:8080/", "//127.0.0.1:8080/", "127.0.0.1:8080",
            "http://", "",
            "https://hooks.examplé.com/postrider", "http:/127.0.0.1:8080/",
        ])
    func refused(_ text: String) throws {
        #expect(try !isAllowed(text))
    }

    @Test("are at most as long as the bound")
    func length() throws {
        let start = "http://127.0.0.1:8080/"
        let longest = start + String(repeating: "a", count: Limits.callbackURLBytes - start.utf8.count)
        #expect(try isAllowed(longest))
        #expect(try !isAllowed(longest + "a"))
    }

    @Test(
        "are prefixes only without a query, and not too many",
        arguments: [
            [], [""], ["https://a.example/?x"], ["https://a.example", "nonsense"], ["ftp://a.example"],
            Array(repeating: "https://a.example", count: Limits.callbackPrefixes + 1),
        ])
    func prefixes(_ texts: [String]) {
        #expect(CallbackPolicy(prefixes: texts) == nil)
    }
}

@Suite("The key of callbacks")
struct CallbackKeyTests {
    @Test("signs as Standard Webhooks says")
    func vector() throws {
        // The example of the specification's libraries.
        let key = try #require(CallbackKey("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
        let signature = key.signature(
            id: "msg_p5jXN8AQM9LWM0D4loKWxJek", seconds: 1_614_265_330,
            body: Array(#"{"test": 2432232314}"#.utf8))
        #expect(signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
    }

    @Test(
        "is whsec_ and base64 of 24 to 64 bytes",
        arguments: [
            "", "whsec_", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_c2hvcnQ=", "whsec_not base64",
            "whsec_" + String(repeating: "AAAA", count: 22),
        ])
    func malformed(_ text: String) {
        #expect(CallbackKey(text) == nil)
    }
}
