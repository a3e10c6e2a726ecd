import PostriderHTTP2
import PostriderNotifications
import RelayFixtures
import Testing

@testable import PostriderProviderAPI

@Suite("Lookups of devices by providers")
struct LookupRequestValidatorTests {
    private func admit(
        _ path: String, _ changes: [String: String?] = [:], keys: Set<String> = ["KEY0000001"],
        allKeys: Set<String> = [], doubled: [String] = [], certificate: ProviderCertificate? = nil
    ) throws -> Result<ProviderQuestion, Rejection> {
        var block = HeaderBlock()
        let fields = Provider.shared.fields(
            [":method": "GET", ":path": path, "apns-push-type": nil].merging(changes) { $1 })
        for (name, value) in fields { block.add(name, value) }
        for name in doubled { block.add(name, "1") }
        let request = PushRequest()
        request.begin(&block) { NotificationIdentity(high: 3, low: 4) }
        let validator = LookupRequestValidator(
            authority: Provider.shared.authority, tokens: ProviderTokens(), environment: .production,
            permissions: LookupPermissions(keys: keys, allKeys: allKeys), now: Samples.now)
        var credentials = ProviderCredentials()
        do throws(Rejection) {
            return .success(try validator.admit(request, &credentials))
        } catch {
            return .failure(error)
        }
    }

    @Test("name devices and tags, for the app and the environment of the request")
    func names() throws {
        let question = try admit("/3/tokens?device=kiosk-7&tag=lobby&tag=wall&device=k8&after=kiosk-1").get()
        guard case .devices(let lookup) = question else {
            Issue.record("the question is about a push")
            return
        }
        #expect(lookup.names.map(\.text) == ["kiosk-7", "k8"] && lookup.after?.text == "kiosk-1")
        #expect(Set(lookup.tags.map(\.text)) == ["lobby", "wall"])
        #expect(lookup.topic == Samples.topic && lookup.environment == .production)
        #expect(lookup.key == "KEY0000001")
    }

    @Test("list all devices for a key that the operator has named for that, and for no other")
    func all() throws {
        let question = try admit("/3/tokens?all=true&after=kiosk-1", keys: [], allKeys: ["KEY0000001"]).get()
        guard case .devices(let lookup) = question else {
            Issue.record("the question is about a push")
            return
        }
        #expect(lookup.isAll && lookup.names.isEmpty && lookup.tags.isEmpty)
        #expect(lookup.topic == Samples.topic && lookup.after?.text == "kiosk-1")
        #expect(try admit("/3/tokens?all=true") == .failure(.forbidden))
        #expect(try admit("/3/tokens?all=true", allKeys: ["KEY0000002"]) == .failure(.forbidden))
        for query in ["all", "all=", "all=false", "all=true&tag=lobby", "all=true&device=kiosk-7"] {
            #expect(
                try admit("/3/tokens?" + query, allKeys: ["KEY0000001"]) == .failure(.badPath), "\(query)")
        }
    }

    @Test("need a key that the operator has named")
    func permission() throws {
        let path = "/3/tokens?tag=lobby"
        func rejection(_ path: String, _ changes: [String: String?] = [:], keys: Set<String> = ["KEY0000001"])
            throws -> Rejection?
        {
            guard case .failure(let rejection) = try admit(path, changes, keys: keys) else { return nil }
            return rejection
        }
        #expect(try rejection(path) == nil)
        #expect(try rejection(path, keys: ["KEY0000002"]) == .forbidden)
        #expect(try rejection(path, keys: []) == .forbidden)
        #expect(try rejection(path, ["authorization": nil]) == .missingProviderToken)
        #expect(try rejection(path, ["apns-topic": nil]) == .missingTopic)
        #expect(try rejection(path, ["apns-topic": "no topic"]) == .badTopic)
        #expect(try rejection(path, ["apns-topic": Samples.otherTopic.text]) == .topicDisallowed)
        #expect(try rejection(path, [":method": "POST"]) == .methodNotAllowed)
        for query in ["", "?", "?tag=", "?tag=a/b", "?device=*", "?all", "?after=x", "?tag=a&x=y"] {
            #expect(try rejection("/3/tokens" + query) == .badPath, "\(query)")
        }
        let many = (0...Limits.lookupNames).map { "tag=t\($0)" }.joined(separator: "&")
        #expect(try rejection("/3/tokens?" + many) == .badPath)
        guard case .failure(.duplicateHeaders) = try admit(path, doubled: ["apns-topic"]) else {
            Issue.record("a doubled header is accepted")
            return
        }
    }

    @Test("ask about a push of the app, by its apns-id")
    func push() throws {
        let identity = "123E4567-E89B-12D3-A456-42665544000A"
        for (path, query) in [("", ""), ("?", ""), ("?wait=done&timeout=3", "wait=done&timeout=3")] {
            let lookup = PushLookup(
                key: "KEY0000001", topic: Samples.topic, environment: .production,
                identity: try #require(NotificationIdentity(identity)), query: query)
            #expect(try admit("/3/pushes/\(identity)" + path) == .success(.push(lookup)))
        }
        for wrong in ["", "1", identity + "/x", "?wait=done"] {
            #expect(try admit("/3/pushes/\(wrong)") == .failure(.badMessageIdentifier), "\(wrong)")
        }
        #expect(try admit("/3/pushes/\(identity)", keys: ["KEY0000002"]) == .failure(.forbidden))
        let other = ["apns-topic": Samples.otherTopic.text]
        #expect(try admit("/3/pushes/\(identity)", other) == .failure(.topicDisallowed))
    }

    @Test("have paths of their own")
    func path() {
        let good = ["/3/tokens", "/3/tokens?tag=a", "/3/pushes/", "/3/pushes/1?wait=done"]
        let paths = good + ["/3/tokens/", "/3/token", "/3/device/tokens", "/3/pushes", "/", ""]
        #expect(paths.filter { LookupRequestValidator.isOne(Array($0.utf8).span) } == good)
    }
}
