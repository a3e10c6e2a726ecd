import PostriderHTTP2
import PostriderNotifications
import RelayFixtures
import Testing

@testable import PostriderDeviceQueue
@testable import PostriderProviderAPI

/// One fault of a request.
struct Fault: CustomTestStringConvertible, Sendable {
    let rejection: Rejection
    let changes: [String: String?]
    var body = Array("{}".utf8)
    var doubled: String?

    var testDescription: String {
        "\(rejection.rawValue): \(changes.map { "\($0.key)=\($0.value ?? "nil")" }) \(doubled ?? "")"
    }

    init(
        _ rejection: Rejection, _ changes: [String: String?] = [:], body: String = "{}",
        doubled: String? = nil
    ) {
        self.rejection = rejection
        self.changes = changes
        self.body = Array(body.utf8)
        self.doubled = doubled
    }
}

@Suite("Admission")
struct PushValidatorTests {
    private let provider = Provider.shared

    private func verdict(_ faults: [Fault]) throws -> Rejection? {
        var changes: [String: String?] = [:]
        var body = Array("{}".utf8)
        for fault in faults {
            changes.merge(fault.changes) { first, _ in first }
            if fault.body != Array("{}".utf8) { body = fault.body }
        }
        var fields = provider.fields(changes)
        for name in faults.compactMap(\.doubled) { fields.append((name, "1")) }
        guard case .failure(let rejection) = try provider.admit(fields, body: body) else { return nil }
        return rejection
    }

    private func notification(_ changes: [String: String?], body: [UInt8] = Array("{}".utf8)) throws
        -> Notification
    {
        try provider.admit(provider.fields(changes), body: body).get()
    }

    /// One fault for each check, in the contract's order of checks (section 4.4).
    private static let inOrder: [Fault] = [
        Fault(.methodNotAllowed, [":method": "GET"]),
        Fault(.badPath, [":path": "/3/devices/" + Provider.deviceToken]),
        Fault(.duplicateHeaders, ["apns-priority": "10"], doubled: "apns-priority"),
        Fault(.invalidProviderToken, ["authorization": "bearer a.b.c"]),
        Fault(.badMessageIdentifier, ["apns-id": "no"]),
        Fault(.badExpirationDate, ["apns-expiration": "soon"]),
        Fault(.badPriority, ["apns-priority": "7"]),
        Fault(.invalidPushType, ["apns-push-type": "Alert"]),
        Fault(.badCollapseIdentifier, ["apns-collapse-id": String(repeating: "c", count: 65)]),
        Fault(.badTopic, ["apns-topic": "com/example"]),
        Fault(.badDeviceToken, [":path": "/3/device/abc"]),
        Fault(.payloadTooLarge, body: #"{"a":"\#(String(repeating: "x", count: 4096))"}"#),
        Fault(.badDeviceToken, [":path": "/3/device/" + String(repeating: "0", count: 64)]),
    ]

    @Test("names the first of two faults in the contract's order")
    func order() throws {
        for (place, first) in Self.inOrder.enumerated() {
            #expect(try verdict([first]) == first.rejection)
            // One field cannot have two faults; it keeps the first.
            for second in Self.inOrder[(place + 1)...] {
                #expect(
                    try verdict([first, second]) == first.rejection,
                    "\(first.rejection) and \(second.rejection)")
                #expect(try verdict([second, first]) != nil)
            }
        }
    }

    @Test(
        "refuses each fault with its reason",
        arguments: [
            Fault(.methodNotAllowed, [":method": "PUT"]), Fault(.methodNotAllowed, [":method": "post"]),
            Fault(.methodNotAllowed, [":method": nil]), Fault(.badPath, [":path": "/"]),
            Fault(.badPath, [":path": nil]),
            Fault(.badPath, [":path": "/3/device"]), Fault(.badPath, [":path": "/4/device/aa"]),
            Fault(.badPath, [":path": "/3/Device/" + Provider.deviceToken]),
            Fault(.duplicateHeaders, doubled: "apns-id"), Fault(.duplicateHeaders, doubled: "apns-topic"),
            Fault(.duplicateHeaders, doubled: "authorization"),
            Fault(.duplicateHeaders, doubled: "apns-push-type"),
            Fault(.duplicateHeaders, ["apns-expiration": "1"], doubled: "apns-expiration"),
            Fault(.duplicateHeaders, ["apns-collapse-id": "1"], doubled: "apns-collapse-id"),
            Fault(.missingProviderToken, ["authorization": nil]),
            Fault(.missingProviderToken, ["authorization": ""]),
            Fault(.missingProviderToken, ["authorization": "basic abc"]),
            Fault(.missingProviderToken, ["authorization": "bearer"]),
            Fault(.missingProviderToken, ["authorization": "bearer   "]),
            Fault(.badMessageIdentifier, ["apns-id": ""]),
            Fault(.badMessageIdentifier, ["apns-id": "9CC486EAEA83935140DF557A308816D8"]),
            Fault(.badMessageIdentifier, ["apns-id": "9CC486EA-EA83-9351-40DF-557A308816DG"]),
            Fault(.badExpirationDate, ["apns-expiration": ""]),
            Fault(.badExpirationDate, ["apns-expiration": "-1"]),
            Fault(.badExpirationDate, ["apns-expiration": "1.5"]),
            Fault(.badExpirationDate, ["apns-expiration": "+1"]),
            Fault(.badExpirationDate, ["apns-expiration": "9223372036854775808"]),
            Fault(.badExpirationDate, ["apns-expiration": "00000000000000000001"]),
            Fault(.badPriority, ["apns-priority": ""]), Fault(.badPriority, ["apns-priority": "05"]),
            Fault(.badPriority, ["apns-priority": "0"]), Fault(.invalidPushType, ["apns-push-type": ""]),
            Fault(.missingTopic, ["apns-topic": nil]), Fault(.missingTopic, ["apns-topic": ""]),
            Fault(.badTopic, ["apns-topic": String(repeating: "a", count: 256)]),
            Fault(.topicDisallowed, ["apns-topic": "com.example.unknown"]),
            Fault(.topicDisallowed, ["apns-topic": Samples.otherTopic.text]),
            Fault(.missingDeviceToken, [":path": "/3/device/"]),
            Fault(.badDeviceToken, [":path": "/3/device/" + Provider.deviceToken + "00"]),
            Fault(.badDeviceToken, [":path": "/3/device/" + Provider.deviceToken + "?a=b"]),
            Fault(.payloadEmpty, body: ""), Fault(.payloadEmpty, body: "[]"), Fault(.payloadEmpty, body: "{"),
        ]
    )
    func refused(_ fault: Fault) throws {
        #expect(try verdict([fault]) == fault.rejection)
    }

    @Test("tells the topic's faults in order, and checks permission before the token")
    func topicOrder() throws {
        let bad = ":path"
        #expect(try verdict([Fault(.missingTopic, ["apns-topic": nil, bad: "/3/device/"])]) == .missingTopic)
        #expect(
            try verdict([Fault(.topicDisallowed, ["apns-topic": "com.example.x", bad: "/3/device/"])])
                == .topicDisallowed)
        #expect(
            try verdict([Fault(.missingDeviceToken, [bad: "/3/device/"], body: "")]) == .missingDeviceToken)
        let unknown = "/3/device/" + String(repeating: "0", count: 64)
        #expect(try verdict([Fault(.payloadEmpty, [bad: unknown], body: "")]) == .payloadEmpty)
    }

    @Test("takes on what is good, with every field")
    func taken() throws {
        let taken = try notification([
            "apns-priority": "5", "apns-collapse-id": "score", "apns-push-type": "background",
            "apns-expiration": "1700000060", "content-type": "application/x-www-form-urlencoded",
            "interruption-level": "x",
        ])
        #expect(taken.identity == NotificationIdentity("9cc486ea-ea83-9351-40df-557a308816d8"))
        #expect(taken.device == Samples.device && taken.registration == Samples.first)
        #expect(
            taken.topic == Samples.topic && taken.pushType == .background && taken.priority == .considerate)
        #expect(taken.expiration == .at(Moment(seconds: 1_700_000_060)))
        #expect(taken.collapseIdentifier == "score" && taken.payload == Array("{}".utf8))
        #expect(taken.acceptedAt == provider.now)
    }

    @Test("gives what is not said its default, and draws an identity")
    func defaults() throws {
        let taken = try notification(["apns-push-type": nil, "apns-id": nil])
        #expect(taken.pushType == nil && taken.priority == .immediate && taken.collapseIdentifier == nil)
        #expect(taken.identity == NotificationIdentity(high: 3, low: 4))
        #expect(taken.expiration == .at(Moment(milliseconds: 1_700_000_000_000 + 30 * 86_400_000)))
    }

    @Test(
        "treats what has passed as now or never, and keeps nothing for longer than 30 days",
        arguments: [
            ("0", .nowOrNever), ("1", .nowOrNever), ("1700000000", .nowOrNever),
            ("1700000001", .at(Moment(seconds: 1_700_000_001))),
            ("1702592000", .at(Moment(seconds: 1_702_592_000))),
            ("1702592001", .at(Moment(seconds: 1_702_592_000))),
            ("9223372036854775807", .at(Moment(seconds: 1_702_592_000))),
            ("0000000000000000001", .nowOrNever),
        ] as [(String, Expiration)]
    )
    func expiration(_ text: String, _ expected: Expiration) throws {
        #expect(try notification(["apns-expiration": text]).expiration == expected)
    }

    @Test("counts the bytes of a collapse identifier; an empty one is none")
    func collapseIdentifier() throws {
        let wide = String(repeating: "ü", count: 32)
        #expect(try notification(["apns-collapse-id": wide]).collapseIdentifier == wide)
        #expect(
            try verdict([Fault(.badCollapseIdentifier, ["apns-collapse-id": wide + "."])])
                == .badCollapseIdentifier)
        #expect(try notification(["apns-collapse-id": ""]).collapseIdentifier == nil)
    }

    @Test(
        "limits a payload by push type or by the topic's suffix",
        arguments: [
            ([:], 4096), (["apns-push-type": nil], 4096), (["apns-push-type": "liveactivity"], 4096),
            (["apns-push-type": "voip"], 5120),
            (["apns-push-type": nil, "apns-topic": "com.example.app.voip"], 5120),
            (["apns-topic": "com.example.app.voip"], 5120),
        ] as [([String: String?], Int)]
    )
    func payload(_ changes: [String: String?], _ limit: Int) throws {
        let body = { (count: Int) in
            Array(#"{"a":""#.utf8) + [UInt8](repeating: 0x61, count: count - 8) + Array("\"}".utf8)
        }
        #expect(try notification(changes, body: body(limit)).payload.count == limit)
        guard
            case .failure(let rejection) = try provider.admit(provider.fields(changes), body: body(limit + 1))
        else {
            Issue.record("\(limit + 1) bytes were taken")
            return
        }
        #expect(rejection == .payloadTooLarge)
    }

    @Test("takes device tokens of either case")
    func upperCase() throws {
        let path = "/3/device/" + Provider.deviceToken.uppercased()
        #expect(try notification([":path": path]).device == Samples.device)
    }
}

@Suite("A push request")
struct PushRequestTests {
    private func request(_ fields: HeaderBlock) -> PushRequest {
        let request = PushRequest()
        var fields = fields
        request.begin(&fields) { NotificationIdentity(high: 0, low: 0xAB) }
        return request
    }

    @Test(
        "echoes what was sent byte for byte, be it good or not",
        arguments: ["9cC486ea-EA83-9351-40DF-557a308816D8", "x", ""])
    func echo(_ text: String) {
        #expect(request(["apns-id": text]).echo == Array(text.utf8))
    }

    @Test("draws an identity in upper case where none was sent")
    func drawn() {
        #expect(request([":path": "/"]).echo == Array("00000000-0000-0000-0000-0000000000AB".utf8))
    }

    @Test("keeps no more of a body than any payload may have, and counts it all")
    func body() {
        let request = request([:])
        let chunk = [UInt8](repeating: 1, count: 1000)
        for _ in 0..<70 { request.append(chunk.span) }
        #expect(request.bodyByteCount == 70_000 && request.body.count == 5000)
        #expect(request.takeBody().count == 5000 && request.body.isEmpty)
    }

    @Test("forgets everything when it is used again")
    func reuse() {
        let request = request(["apns-id": "a", "apns-topic": "b", "apns-priority": "1"])
        request.append(Array("{}".utf8).span)
        var next: HeaderBlock = ["apns-topic": "c", "apns-topic": "d"]
        request.begin(&next) { NotificationIdentity(high: 0, low: 0) }
        #expect(request.hasDuplicates && request.range(.priority) == nil && request.body.isEmpty)
        #expect(request.bodyByteCount == 0 && request.echo.first == UInt8(ascii: "0"))
        var nothing = HeaderBlock()
        request.begin(&nothing) { NotificationIdentity(high: 0, low: 0) }
        #expect(!request.hasDuplicates && request.range(.topic) == nil)
    }
}

@Suite("Environments")
struct EnvironmentTests {
    @Test("A token of one environment is refused in the other", arguments: Environment.allCases)
    func tokenOfTheOther(_ environment: PostriderNotifications.Environment) throws {
        let seal = try DeviceTokenCodec(secrets: [Provider.secret])
        let token = seal.seal(Samples.device, RegistrationNumber(1, in: environment)).hex
        for listener in PostriderNotifications.Environment.allCases {
            let outcome = try Provider.shared.admit(
                Provider.shared.fields([":path": "/3/device/" + token]), environment: listener)
            switch outcome {
            case .success: #expect(listener == environment)
            case .failure(let rejection): #expect(listener != environment && rejection == .badDeviceToken)
            }
        }
    }
}
