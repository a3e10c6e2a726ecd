import PostriderCrypto
import PostriderHTTP2
import PostriderNotifications
import RelayFixtures
import Testing

@testable import PostriderChannels
@testable import PostriderProviderAPI

@Suite("Admission of requests about channels")
struct ChannelRequestValidatorTests {
    private static let channel = "AAECAwQFBgcICQoLDA0ODw=="
    private static let bundle = Samples.topic.text

    /// The kind of a request. Each test starts with a valid one and changes it.
    enum Kind: CaseIterable {
        case create, read, remove, list, send

        var fields: [String: String?] {
            let (channels, channel) = ("/1/apps/\(bundle)/channels", channel)
            switch self {
            case .create: return [":path": channels]
            case .read: return [":path": channels, ":method": "GET", "apns-channel-id": channel]
            case .remove: return [":path": channels, ":method": "DELETE", "apns-channel-id": channel]
            case .list: return [":path": "/1/apps/\(bundle)/all-channels", ":method": "GET"]
            case .send:
                return [
                    ":path": "/4/broadcasts/apps/\(bundle)", "apns-channel-id": channel,
                    "apns-expiration": "0",
                    "apns-priority": "10", "apns-push-type": "Liveactivity",
                ]
            }
        }

        var body: String {
            switch self {
            case .create: #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#
            case .read, .remove, .list: ""
            case .send: #"{"aps":{}}"#
            }
        }
    }

    private func admit(
        _ kind: Kind, _ changes: [String: String?] = [:], body: String? = nil, doubled: [String] = [],
        authority: AccessPolicy = Provider.shared.authority, isStrict: Bool = false
    ) -> Result<(order: ChannelCommand, owner: ChannelOwner), Rejection> {
        var block = HeaderBlock()
        let fields = Provider.shared.fields(
            ["apns-topic": nil, "apns-push-type": nil].merging(kind.fields.merging(changes) { $1 }) { $1 })
        for (name, value) in fields { block.add(name, value) }
        for name in doubled { block.add(name, "1") }
        let request = PushRequest()
        request.begin(&block) { NotificationIdentity(high: 3, low: 4) }
        let bytes = Array((body ?? kind.body).utf8)
        request.append(bytes.span)
        let admission = ChannelRequestValidator(
            authority: authority, tokens: ProviderTokens(), environment: .development, isStrict: isStrict,
            now: Samples.now)
        var credentials = ProviderCredentials()
        do throws(Rejection) { return .success(try admission.admit(request, &credentials)) } catch {
            return .failure(error)
        }
    }

    @Test("takes the trace context of a broadcast's provider on")
    func traceContext() throws {
        let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        let order = try admit(.send, ["traceparent": parent]).get().order
        guard case .broadcast(let broadcast, _, _) = order else {
            Issue.record("the order is \(order)")
            return
        }
        #expect(broadcast.traceContext == TraceContext(parent: parent))
    }

    private func rejection(
        _ kind: Kind, _ changes: [String: String?] = [:], body: String? = nil, doubled: [String] = [],
        authority: AccessPolicy = Provider.shared.authority, isStrict: Bool = false
    ) -> Rejection? {
        guard
            case .failure(let rejection) = admit(
                kind, changes, body: body, doubled: doubled, authority: authority, isStrict: isStrict)
        else { return nil }
        return rejection
    }

    /// One fault for each check of a request (section 6.1 of the contract).
    private static let faults: [(Rejection, Kind, [String: String?], String?)] = [
        (.badPath, .create, [":path": "/1/apps/\(bundle)/channel"], nil),
        (.badPath, .create, [":path": "/1/apps/\(bundle)/channels/"], nil),
        (.badPath, .create, [":path": "/1/apps/channels"], nil),
        (.badPath, .send, [":path": "/4/broadcast/apps/\(bundle)"], nil),
        (.badPath, .send, [":path": "/4/broadcasts/apps/\(bundle)/x"], nil),
        (.methodNotAllowed, .create, [":method": "PUT"], nil),
        (.methodNotAllowed, .list, [":method": "POST"], nil),
        (.methodNotAllowed, .send, [":method": "GET"], nil),
        (.missingProviderToken, .create, ["authorization": nil], nil),
        (.invalidProviderToken, .list, ["authorization": "bearer a.b.c"], nil),
        (.badMessageIdentifier, .list, ["apns-request-id": "no"], nil),
        (.badMessageIdentifier, .send, ["apns-id": "no"], nil),
        (.topicDisallowed, .list, [":path": "/1/apps/\(bundle).voip/all-channels"], nil),
        (.topicDisallowed, .send, [":path": "/4/broadcasts/apps/\(bundle).push-type.liveactivity"], nil),
        (.topicMismatch, .list, [":path": "/1/apps/com.example.other/all-channels"], nil),
        (.topicMismatch, .list, [":path": "/1/apps/com.example.nobody/all-channels"], nil),
        (.topicMismatch, .list, [":path": "/1/apps//all-channels"], nil),
        (.missingChannelIdentifier, .read, ["apns-channel-id": nil], nil),
        (.missingChannelIdentifier, .send, ["apns-channel-id": ""], nil),
        (.badChannelIdentifier, .remove, ["apns-channel-id": "x"], nil),
        (.badChannelIdentifier, .send, ["apns-channel-id": channel + channel], nil),
        (.payloadEmpty, .create, [:], ""),
        (.badRequestPayload, .create, [:], "{"),
        (.badRequestPayload, .create, [:], "[]"),
        (
            .badRequestParameters, .create, [:],
            #"{"message-storage-policy":1,"push-type":"LiveActivity","x":1}"#
        ),
        (.badRequestParameters, .create, [:], #"{"message-storage-policy":2,"push-type":"LiveActivity"}"#),
        (.badRequestParameters, .create, [:], #"{"push-type":"LiveActivity"}"#),
        (.missingPushType, .create, [:], #"{"message-storage-policy":1}"#),
        (.invalidPushType, .create, [:], #"{"message-storage-policy":1,"push-type":"alert"}"#),
        (.payloadTooLarge, .create, [:], String(repeating: " ", count: 5121)),
        (.badExpirationDate, .send, ["apns-expiration": nil], nil),
        (.badExpirationDate, .send, ["apns-expiration": "soon"], nil),
        (.badExpirationDate, .send, ["apns-expiration": "99999999999999999999"], nil),
        (.badPriority, .send, ["apns-priority": nil], nil),
        (.badPriority, .send, ["apns-priority": "1"], nil),
        (.missingPushType, .send, ["apns-push-type": nil], nil),
        (.invalidPushType, .send, ["apns-push-type": "alert"], nil),
        (.payloadEmpty, .send, [:], ""),
        (.badRequestPayload, .send, [:], "[1]"),
        (.payloadTooLarge, .send, [:], #"{"a":"\#(String(repeating: "x", count: 5113))"}"#),
    ]

    @Test("Each fault has its reason", arguments: faults)
    func reasons(_ reason: Rejection, _ kind: Kind, _ changes: [String: String?], _ body: String?) {
        #expect(rejection(kind, changes, body: body) == reason)
    }

    private static let policyTexts: [(String, ChannelStorage?)] = [
        ("\"0\"", .nothing), ("\"1\"", .mostRecent), ("\"2\"", nil), ("\"\"", nil), ("\" 1\"", nil),
        ("\"1.0\"", nil), ("\"one\"", nil), ("\"0x1\"", nil), ("true", nil), ("null", nil), ("[1]", nil),
        ("1.5", nil),
    ]

    @Test(
        "A storage policy may be a whole number as text, unless the relay is strict", .bug(id: "R22"),
        arguments: policyTexts)
    func policyText(_ policy: String, _ storage: ChannelStorage?) throws {
        let body = #"{"message-storage-policy":\#(policy),"push-type":"LiveActivity"}"#
        #expect(rejection(.create, body: body, isStrict: true) == .badRequestParameters)
        guard let storage else {
            #expect(rejection(.create, body: body) == .badRequestParameters)
            return
        }
        guard case .create(storage) = try admit(.create, body: body).get().order else {
            Issue.record("another order than a channel with the policy \(storage)")
            return
        }
    }

    @Test("What is doubled is refused before anybody is asked who he is")
    func duplicates() {
        #expect(rejection(.send, ["authorization": nil], doubled: ["apns-channel-id"]) == .duplicateHeaders)
    }

    @Test("An app that the operator has not enabled has no channels")
    func feature() {
        let authority = AccessPolicy(
            generation: 1,
            providerKeys: [
                ProviderKeyRecord(
                    identifier: "KEY0000001", team: "TEAM000001",
                    publicKey: Provider.shared.key.publicKey.pem, addedAt: Samples.now)
            ],
            topics: [TopicRecord(topic: Samples.topic, team: "TEAM000001", takesBroadcasts: false)],
            enrolmentKeys: [], log: .none)
        for kind in Kind.allCases { #expect(rejection(kind, authority: authority) == .featureNotEnabled) }
    }

    @Test("A good request becomes an order in its listener's environment")
    func orders() throws {
        for kind in Kind.allCases {
            let (order, owner) = try admit(kind).get()
            #expect(owner == ChannelOwner(topic: Samples.topic, environment: .development))
            let identity = try #require(ChannelIdentity(Self.channel))
            switch (kind, order) {
            case (.create, .create(let storage)): #expect(storage == .mostRecent)
            case (.read, .read(let channel)), (.remove, .remove(let channel)): #expect(channel == identity)
            case (.list, .list): break
            case (.send, .broadcast(let broadcast, let isNowOrNever, let proof)):
                #expect(broadcast.channel == identity && isNowOrNever && broadcast.priority == .immediate)
                #expect(
                    broadcast.payload == Array(#"{"aps":{}}"#.utf8) && broadcast.acceptedAt == Samples.now)
                #expect(proof == .key("KEY0000001"))
                #expect(broadcast.identity.description == "9CC486EA-EA83-9351-40DF-557A308816D8")
            default: Issue.record("\(kind) became \(order)")
            }
        }
    }

    @Test("node-apn's spelling of the push type, its extra header and a body of 5120 bytes are good")
    func tolerance() throws {
        #expect(
            rejection(
                .create, ["apns-priority": "10"],
                body: #"{"message-storage-policy":0,"push-type":"liveactivity"}"#)
                == nil)
        let largest = #"{"a":"\#(String(repeating: "x", count: 5112))"}"#
        #expect(
            rejection(.send, ["apns-push-type": "LIVEACTIVITY", "apns-topic": "x"], body: largest) == nil)
    }

    @Test("A broadcast is called by apns-request-id, by apns-id, or as the relay draws")
    func names() throws {
        func identity(_ changes: [String: String?]) throws -> NotificationIdentity? {
            guard case .broadcast(let broadcast, _, _) = try admit(.send, changes).get().order else {
                return nil
            }
            return broadcast.identity
        }
        let name = "00000000-0000-0000-0000-00000000000a"
        #expect(try identity(["apns-request-id": name]) == NotificationIdentity(high: 0, low: 10))
        #expect(try identity(["apns-id": name]) == NotificationIdentity(high: 0, low: 10))
        #expect(try identity(["apns-id": nil]) == NotificationIdentity(high: 3, low: 4))
    }

    @Test(
        "Expirations end after eight hours, and those that have passed are now or never",
        arguments: [
            ("0", .nowOrNever, true), ("1", .nowOrNever, false),
            ("1700000001", .at(Moment(seconds: 1_700_000_001)), false),
            ("1800000000", .at(Moment(seconds: 1_700_028_800)), false),
        ] as [(String, Expiration, Bool)])
    func expirations(_ text: String, _ expiration: Expiration, _ isZero: Bool) throws {
        guard
            case .broadcast(let broadcast, let isNowOrNever, _) =
                try admit(.send, ["apns-expiration": text]).get().order
        else {
            Issue.record("it is no broadcast")
            return
        }
        #expect(broadcast.expiration == expiration && isNowOrNever == isZero)
    }

    @Test("Only the first bytes of a path are looked at to tell the families apart")
    func families() {
        for (path, isOne) in [
            ("/3/device/00", false), ("/1/apps/a/channels", true), ("/4/x", true), ("/", false), ("", false),
            ("/10/", false),
        ] {
            let bytes = Array(path.utf8)
            #expect(ChannelPath.isOne(bytes.span) == isOne, "\(path)")
        }
    }

    @Test("This family prints one of its reasons with a space")
    func spelling() {
        #expect(
            Rejection.serviceUnavailable.channelBody() == Array(#"{"reason":"Service Unavailable"}"#.utf8))
        #expect(Rejection.shutdown.channelBody() == Array(#"{"reason":"Shutdown"}"#.utf8))
    }
}
