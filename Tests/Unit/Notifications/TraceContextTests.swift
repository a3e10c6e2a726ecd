import PostriderNotifications
import Testing

@Suite("A trace context")
struct TraceContextTests {
    private static let trace = "0af7651916cd43dd8448eb211c80319c"
    private static let span = "b7ad6b7169203331"
    private static let good = "00-\(trace)-\(span)-01"

    @Test("is read from a traceparent, of which it keeps the flags that have a meaning")
    func parent() throws {
        let cases = [
            ("00-\(Self.trace)-\(Self.span)-00", "00", false),
            ("00-\(Self.trace)-\(Self.span)-01", "01", true),
            ("00-\(Self.trace)-\(Self.span)-03", "03", true),
            ("00-\(Self.trace)-\(Self.span)-ff", "03", true),
            ("00-\(Self.trace)-\(Self.span)-fc", "00", false),
        ]
        for (text, flags, isSampled) in cases {
            let context = try #require(TraceContext(parent: text), "\(text)")
            #expect(context.parent == "00-\(Self.trace)-\(Self.span)-\(flags)")
            #expect(context.isSampled == isSampled)
            #expect(context.state == nil)
        }
    }

    @Test("of a later version is passed on in version 00")
    func laterVersions() throws {
        for text in ["01-\(Self.trace)-\(Self.span)-01", "fe-\(Self.trace)-\(Self.span)-01-what-comes-then"] {
            #expect(try #require(TraceContext(parent: text), "\(text)").parent == Self.good)
        }
    }

    @Test(
        "is none if the traceparent is not valid",
        arguments: [
            "", "00", "-", "00-\(trace)-\(span)", "00-\(trace)-\(span)-", "00-\(trace)-\(span)-1",
            "ff-\(trace)-\(span)-01", "0-\(trace)-\(span)-001", "00-\(trace)-\(span)-01-", " \(good)",
            "\(good) ",
            "\(good).", "00-\(trace)-\(span)-01-x", "01-\(trace)-\(span)-01.", "01-\(trace)-\(span)-01x",
            "00-00000000000000000000000000000000-\(span)-01", "00-\(trace)-0000000000000000-01",
            "00-0AF7651916CD43DD8448EB211C80319C-\(span)-01", "00-\(trace)-B7AD6B7169203331-01",
            "00-\(trace)-\(span)-0A", "0A-\(trace)-\(span)-01", "0g-\(trace)-\(span)-01",
            "00-.af7651916cd43dd8448eb211c80319c-\(span)-01", "00_\(trace)_\(span)_01",
            "00-\(trace)-\(span)-é", "00-\(trace)\(span)--01", "\u{0}0-\(trace)-\(span)-01",
        ])
    func invalid(_ text: String) { #expect(TraceContext(parent: text, state: "a=1") == nil) }

    @Test(
        "has the members of a tracestate, without empty ones and the spaces around them",
        arguments: [
            ("a=1", "a=1"), ("a=1,b=2", "a=1,b=2"), (" a=1 ,\t b=2,,", "a=1,b=2"), (",", nil), ("", nil),
            ("0a=1", "0a=1"), ("tenant@system/x-y_z*=a b!~", "tenant@system/x-y_z*=a b!~"),
            ("a= 1", "a= 1"),
        ] as [(String, String?)])
    func state(_ text: String, _ expected: String?) throws {
        #expect(try #require(TraceContext(parent: Self.good, state: text)).state == expected)
    }

    @Test(
        "has no tracestate if that is not valid",
        arguments: [
            "a", "=1", "a=", "a=1=2", "A=1", "-a=1", "a b=1", "a=\u{7f}", "a=é", "a=1,a=2", "a=1,b",
            String(repeating: "k", count: 257) + "=1", "a=" + String(repeating: "v", count: 257),
            (0..<33).map { "k\($0)=1" }.joined(separator: ","),
        ])
    func invalidState(_ text: String) throws {
        let context = try #require(TraceContext(parent: Self.good, state: text))
        #expect(context.state == nil && context.parent == Self.good)
    }

    @Test("loses of a tracestate above 512 bytes the members above 128 bytes first, then the last ones")
    func bounds() throws {
        func member(_ key: String, _ length: Int) -> String {
            "\(key)=" + String(repeating: "v", count: length - 2)
        }
        func state(_ members: [String]) throws -> String? {
            let text = members.joined(separator: ",")
            return try #require(TraceContext(parent: Self.good, state: text)).state
        }
        let short = "abcd".map { member(String($0), 127) }
        let whole = short + ["e="].map { $0 + "1" }
        #expect(try state(short) == short.joined(separator: ","))
        #expect(short.joined(separator: ",").utf8.count == 511)
        #expect(try state(whole) == short.joined(separator: ","))
        let long = [member("l", 200)] + short.prefix(2) + [member("m", 250)]
        #expect(try state(long) == short.prefix(2).joined(separator: ","))
        let fitting = [member("l", 250), member("m", 250)]
        #expect(try state(fitting) == fitting.joined(separator: ","))
        #expect(try state([member("l", 250), member("m", 250), member("n", 250)]) == nil)
        let most = (10..<42).map { "\($0)=1" }
        #expect(try state(most) == most.joined(separator: ","))
    }

    @Test("is one text in a store", arguments: ["a=1", "a=b c,d=2", nil] as [String?])
    func text(_ state: String?) throws {
        let context = try #require(TraceContext(parent: Self.good, state: state))
        #expect(TraceContext(text: context.text) == context)
        #expect(TraceContext(text: "") == nil && TraceContext(text: "x a=1") == nil)
    }

    @Test("does not tell a push from its repetition, which a provider may send in another span")
    func repetition() throws {
        let topic = try #require(Topic("com.example.app"))
        func notification(_ context: TraceContext?) -> Notification {
            Notification(
                identity: NotificationIdentity(high: 1, low: 2), device: DeviceIdentity(high: 3, low: 4),
                registration: RegistrationNumber(1), topic: topic, pushType: nil, priority: .immediate,
                expiration: .nowOrNever, collapseIdentifier: nil, payload: [],
                acceptedAt: Moment(milliseconds: 1), traceContext: context)
        }
        let (one, other) = (notification(TraceContext(parent: Self.good)), notification(nil))
        #expect(one.isSame(as: other) && one.contentHash == other.contentHash)
    }
}
