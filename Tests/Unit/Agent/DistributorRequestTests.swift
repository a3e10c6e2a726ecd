import PostriderDBus
import Testing

@testable import PostriderAgent

@Suite("A call to the UnifiedPush distributor")
struct DistributorRequestTests {
    /// The generator of P-256, and its point.
    private static let vapid =
        "BGsX0fLhLEJH-Lzm5WOkQPJ3A32BLeszoPShOUXYmMKWT-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU"
    private static let two = "org.unifiedpush.Distributor2"
    private static let one = "org.unifiedpush.Distributor1"

    private func named(_ fields: [String: BusValue]) -> [BusValue] {
        [.named(fields.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) })]
    }

    private func register(_ changes: [String: BusValue?]) throws -> DistributorRequest.Registration? {
        var fields: [String: BusValue] = ["service": .string("org.example.App"), "token": .string("t")]
        for (name, value) in changes { fields[name] = value }
        let request = try DistributorRequest(
            interface: Self.two, member: "Register", arguments: named(fields))
        if case .register(let registration) = request { return registration } else { return nil }
    }

    @Test("is read with the fields that it has")
    func fields() throws {
        let least = try register([:])
        #expect(
            least
                == .init(
                    service: "org.example.App", token: "t", description: "", senderKey: [], version: .two))
        let most = try #require(
            try register([
                "description": .string("Grüße"), "vapid": .string(Self.vapid), "later": .byte(1),
                "token": .string(String(repeating: "t", count: 100)),
            ]))
        #expect(most.description == "Grüße" && most.token.count == 100)
        #expect(most.senderKey.count == 65 && most.senderKey.prefix(3) == [4, 0x6B, 0x17])
    }

    @Test(
        "is refused with the name of the field that does not follow the specification",
        arguments: [
            ("token", nil), ("token", .string("")), ("token", .string(String(repeating: "t", count: 101))),
            ("token", .byte(1)), ("service", nil), ("service", .string("app")),
            ("service", .string(":1.7")), ("service", .string("org..example")),
            ("service", .string("org.1example")), ("service", .string("org.example.App/x")),
            ("service", .string("a." + String(repeating: "b", count: 254))),
            ("description", .string(String(repeating: "d", count: 101))), ("description", .uint32(1)),
            ("vapid", .string("")), ("vapid", .string(String(vapid.dropLast()))),
            ("vapid", .string(vapid + "=")),
            ("vapid", .string(String(repeating: "A", count: 87))),
            ("vapid", .string(vapid.replacing("-", with: "+"))),
        ] as [(String, BusValue?)])
    func flaws(_ name: String, _ value: BusValue?) {
        let error = #expect(throws: DistributorRequest.Flaw.self) { try register([name: value]) }
        guard case .error(let error, let message) = error?.answer else {
            Issue.record("it is answered")
            return
        }
        #expect(error == "org.freedesktop.DBus.Error.InvalidArgs")
        #expect(message.hasPrefix("The field \(name) must be "))
    }

    @Test("of version 1 has its arguments by position, and a long description is cut")
    func positions() throws {
        let long = String(repeating: "ü", count: 51)
        let request = try DistributorRequest(
            interface: Self.one, member: "Register",
            arguments: [.string("org.example.App"), .string("t"), .string(long)])
        #expect(
            request
                == .register(
                    .init(
                        service: "org.example.App", token: "t",
                        description: String(repeating: "ü", count: 50), senderKey: [], version: .one)))
        #expect(
            try DistributorRequest(interface: Self.one, member: "Unregister", arguments: [.string("t")])
                == .unregister(token: "t", .one))
        #expect(
            try DistributorRequest(
                interface: Self.two, member: "Unregister", arguments: named(["token": .string("t")]))
                == .unregister(token: "t", .two))
    }

    @Test("with other types, unreadable arguments or an unknown method is refused")
    func forms() {
        let cases: [(String, String, [BusValue]?, DistributorRequest.Flaw)] = [
            (Self.two, "Register", nil, .arguments), (Self.two, "Register", [], .arguments),
            (Self.two, "Register", [.string("t")], .arguments),
            (Self.one, "Register", [.string("a.b"), .string("t")], .arguments),
            (Self.one, "Unregister", [], .arguments),
            (Self.two, "Message", [], .unknownMethod(Self.two, "Message")),
            (
                "org.unifiedpush.Distributor3", "Register", [],
                .unknownMethod("org.unifiedpush.Distributor3", "Register")
            ),
            ("", "Register", [], .unknownMethod("", "Register")),
        ]
        for (interface, member, arguments, flaw) in cases {
            #expect(throws: flaw) {
                try DistributorRequest(interface: interface, member: member, arguments: arguments)
            }
        }
    }

    @Test("is answered as its version says")
    func answers() {
        func named(_ fields: (name: String, value: BusValue)...) -> BusAnswer { .values([.named(fields)]) }
        #expect(
            RegistrationOutcome.succeeded.answer(.two)
                == named(("success", .string("REGISTRATION_SUCCEEDED"))))
        #expect(
            RegistrationOutcome.failed(.network).answer(.two)
                == named(("success", .string("REGISTRATION_FAILED")), ("reason", .string("NETWORK"))))
        #expect(
            RegistrationOutcome.succeeded.answer(.one)
                == .values([.string("REGISTRATION_SUCCEEDED"), .string("")]))
        #expect(
            RegistrationOutcome.failed(.actionRequired).answer(.one)
                == .values([.string("REGISTRATION_FAILED"), .string("ACTION_REQUIRED")]))
    }

    @Test("about the object tells which methods it has in which versions")
    func introspection() throws {
        let interface = "org.freedesktop.DBus.Introspectable"
        #expect(
            try DistributorRequest(interface: interface, member: "Introspect", arguments: []) == .introspect)
        for name in [Self.one, Self.two] { #expect(DistributorDescription.xml.contains("\"\(name)\"")) }
    }
}

@Suite("A call of an app's connector")
struct ConnectorCallTests {
    private func record(_ version: ConnectorVersion) -> ConnectorRecord {
        ConnectorRecord(
            token: "t", service: "org.example.App", description: "", senderKey: [], version: version,
            topic: "web-push.a")
    }

    private static let bytes = BusValue.array(of: "y", [.byte(0), .byte(255)])

    @Test("has named arguments in version 2, and arguments by position in version 1")
    func arguments() {
        let message = ConnectorCall.message([0, 255], identifier: "i")
        let two = message.call(of: record(.two))
        #expect(two.destination == "org.example.App" && two.path == "/org/unifiedpush/Connector")
        #expect(two.interface == "org.unifiedpush.Connector2" && two.member == "Message")
        #expect(
            two.arguments
                == [.named([("token", .string("t")), ("message", Self.bytes), ("id", .string("i"))])])
        let one = message.call(of: record(.one))
        #expect(one.interface == "org.unifiedpush.Connector1")
        #expect(one.arguments == [.string("t"), Self.bytes, .string("i")])
        let endpoint = ConnectorCall.newEndpoint("https://a/b")
        #expect(
            endpoint.call(of: record(.two)).arguments
                == [.named([("token", .string("t")), ("endpoint", .string("https://a/b"))])])
        #expect(endpoint.call(of: record(.one)).arguments == [.string("t"), .string("https://a/b")])
    }

    @Test("confirms an unregistration of version 1 with an empty token, and tells of another with the token")
    func unregistration() {
        for wasAskedFor in [true, false] {
            let call = ConnectorCall.unregistered(wasAskedFor: wasAskedFor)
            #expect(call.call(of: record(.one)).arguments == [.string(wasAskedFor ? "" : "t")])
            #expect(call.call(of: record(.two)).arguments == [.named([("token", .string("t"))])])
        }
    }
}
