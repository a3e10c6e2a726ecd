import PostriderNotifications
import RelayFixtures
import Testing

@testable import PostriderProviderAPI

/// Valid and invalid combinations of push type, topic and priority (section 2.3 of the contract).
@Suite("Admission by push type")
struct PushTypeAdmissionTests {
    private static let strict: APNsCompatibility = {
        var fidelity = APNsCompatibility()
        fidelity.isStrict = true
        return fidelity
    }()

    /// Copied by hand from the contract, not from the code: type, suffix, and the priorities that a strict relay
    /// accepts.
    private static let table: [(type: String, suffix: String, priorities: [String])] = [
        ("alert", "", ["1", "5", "10"]), ("background", "", ["5"]),
        ("voip", ".voip", ["1", "5", "10"]), ("complication", ".complication", ["1", "5", "10"]),
        ("fileprovider", ".pushkit.fileprovider", ["1", "5", "10"]), ("mdm", "", ["1", "5", "10"]),
        ("location", ".location-query", ["5", "10"]),
        ("liveactivity", ".push-type.liveactivity", ["5", "10"]),
        ("pushtotalk", ".voip-ptt", ["1", "5", "10"]),
        ("widgets", ".push-type.widgets", ["1", "5", "10"]),
        ("controls", ".push-type.controls", ["1", "5", "10"]),
    ]

    private func outcome(
        _ type: String?, _ suffix: String, _ priority: String?, _ fidelity: APNsCompatibility
    ) throws
        -> Result<Notification, Rejection>
    {
        let provider = Provider.shared
        return try provider.admit(
            provider.fields([
                "apns-push-type": type, "apns-topic": Samples.topic.text + suffix, "apns-priority": priority,
            ]),
            fidelity: fidelity)
    }

    private func rejection(_ outcome: Result<Notification, Rejection>) -> Rejection? {
        if case .failure(let rejection) = outcome { rejection } else { nil }
    }

    @Test("knows every push type")
    func everyType() {
        #expect(Self.table.map(\.type).sorted() == PushType.allCases.map(\.rawValue))
    }

    @Test("takes each type with its suffix, without registering it, and with no other when strict")
    func suffixes() throws {
        for (type, own, _) in Self.table {
            for suffix in Set(Self.table.map(\.suffix)) {
                let strict = rejection(try outcome(type, suffix, nil, Self.strict))
                #expect(strict == (suffix == own ? nil : .badTopic), "\(type) for \(suffix)")
                #expect(
                    rejection(try outcome(type, suffix, nil, APNsCompatibility())) == nil,
                    "\(type) for \(suffix)")
                #expect(rejection(try outcome(nil, suffix, nil, Self.strict)) == nil)
            }
        }
    }

    @Test("takes the priorities of each type when strict, and all of them when not")
    func priorities() throws {
        for (type, suffix, priorities) in Self.table {
            for priority in ["1", "5", "10"] {
                let strict = rejection(try outcome(type, suffix, priority, Self.strict))
                #expect(
                    strict == (priorities.contains(priority) ? nil : .badPriority), "\(type) at \(priority)")
                #expect(rejection(try outcome(type, suffix, priority, APNsCompatibility())) == nil)
            }
        }
    }

    @Test("never treats a background push as immediate")
    func background() throws {
        #expect(try outcome("background", "", nil, Self.strict).get().priority == .considerate)
        #expect(try outcome("background", "", nil, APNsCompatibility()).get().priority == .considerate)
        #expect(try outcome("background", "", "10", APNsCompatibility()).get().priority == .considerate)
        #expect(try outcome("background", "", "1", APNsCompatibility()).get().priority == .low)
        #expect(try outcome("alert", "", nil, Self.strict).get().priority == .immediate)
        #expect(try outcome(nil, "", nil, Self.strict).get().priority == .immediate)
    }

    @Test(
        "tells a forbidden priority before the collapse identifier, and a wrong suffix before permission"
    )
    func order() throws {
        let provider = Provider.shared
        let long = String(repeating: "c", count: 65)
        let cases: [([String: String?], Rejection)] = [
            (
                ["apns-push-type": "background", "apns-priority": "10", "apns-collapse-id": long],
                .badPriority
            ),
            (["apns-collapse-id": long, "apns-topic": "com.example.app.voip"], .badCollapseIdentifier),
            (["apns-topic": Samples.otherTopic.text + ".voip"], .badTopic),
            (["apns-topic": Samples.otherTopic.text], .topicDisallowed),
            (["apns-topic": Samples.topic.text + ".voip", ":path": "/3/device/"], .badTopic),
        ]
        for (changes, expected) in cases {
            let outcome = try provider.admit(provider.fields(changes), fidelity: Self.strict)
            #expect(rejection(outcome) == expected, "\(changes)")
        }
    }

    @Test("leaves a suffixed topic to the team of its app, unless it was given to another one itself")
    func teams() throws {
        let authority = Provider.shared.authority
        #expect(authority.team(of: Samples.named("com.example.app.push-type.widgets")) == "TEAM000001")
        #expect(authority.team(of: Samples.named("com.example.other.voip")) == "TEAM000002")
        #expect(authority.team(of: Samples.named("com.example.app.push-type.unheard")) == nil)
        #expect(authority.team(of: Samples.named(".voip")) == nil)
        let given = AccessPolicy(
            generation: 1, providerKeys: [],
            topics: [
                TopicRecord(topic: Samples.topic, team: "A"),
                TopicRecord(topic: Samples.named("com.example.app.voip"), team: "B"),
            ], enrolmentKeys: [], log: .none)
        #expect(given.team(of: Samples.named("com.example.app.voip")) == "B")
        #expect(given.team(of: Samples.named("com.example.app.voip-ptt")) == "A")
        let outcome = try outcome("voip", ".voip", nil, APNsCompatibility()).get()
        #expect(outcome.topic == Samples.named("com.example.app.voip"))
    }

    @Test(
        "takes device tokens of any length for tokens, ours alone for good ones",
        arguments: [
            (0, Rejection.missingDeviceToken), (1, .badDeviceToken), (2, nil), (63, .badDeviceToken),
            (64, nil), (66, nil), (160, nil), (200, nil), (202, .badDeviceToken),
        ] as [(Int, Rejection?)])
    func tokenLengths(_ digits: Int, _ syntax: Rejection?) throws {
        let provider = Provider.shared
        let fields = provider.fields([":path": "/3/device/" + String(repeating: "a", count: digits)])
        // A syntax error of the token is reported before a fault of the payload, other faults of the token after it.
        #expect(rejection(try provider.admit(fields, body: [])) == syntax ?? .payloadEmpty)
        #expect(rejection(try provider.admit(fields)) == syntax ?? .badDeviceToken)
    }
}
