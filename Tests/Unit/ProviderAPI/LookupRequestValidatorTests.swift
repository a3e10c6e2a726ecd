import PostriderHTTP2
import PostriderNotifications
import RelayFixtures
import Testing

@testable import PostriderProviderAPI

@Suite("Lookups of devices by providers")
struct LookupRequestValidatorTests {
    private func admit(
        _ path: String, _ changes: [String: String?] = [:], keys: Set<String> = ["KEY0000001"],
        doubled: [String] = [], certificate: ProviderCertificate? = nil
    ) throws -> Result<DeviceLookup, Rejection> {
        var block = HeaderBlock()
        let fields = Provider.shared.fields(
            [":method": "GET", ":path": path, "apns-push-type": nil].merging(changes) { $1 })
        for (name, value) in fields { block.add(name, value) }
        for name in doubled { block.add(name, "1") }
        let request = PushRequest()
        request.begin(&block) { NotificationIdentity(high: 3, low: 4) }
        let validator = LookupRequestValidator(
            authority: Provider.shared.authority, tokens: ProviderTokens(), environment: .production,
            keys: keys, now: Samples.now)
        var credentials = ProviderCredentials()
        do throws(Rejection) {
            return .success(try validator.admit(request, &credentials))
        } catch {
            return .failure(error)
        }
    }

    @Test("name devices and tags, for the app and the environment of the request")
    func names() throws {
        let lookup = try admit("/3/tokens?device=kiosk-7&tag=lobby&tag=wall&device=k8&after=kiosk-1").get()
        #expect(lookup.names.map(\.text) == ["kiosk-7", "k8"] && lookup.after?.text == "kiosk-1")
        #expect(Set(lookup.tags.map(\.text)) == ["lobby", "wall"])
        #expect(lookup.topic == Samples.topic && lookup.environment == .production)
        #expect(lookup.key == "KEY0000001")
    }

    @Test("need a key that the operator has named, and nobody can list all devices")
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

    @Test("have a path of their own")
    func path() {
        let paths = ["/3/tokens", "/3/tokens?tag=a", "/3/tokens/", "/3/token", "/3/device/tokens", "/", ""]
        let ones = paths.filter { LookupRequestValidator.isOne(Array($0.utf8).span) }
        #expect(ones == ["/3/tokens", "/3/tokens?tag=a"])
    }
}
