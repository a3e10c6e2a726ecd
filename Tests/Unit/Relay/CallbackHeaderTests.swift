import PostriderCallbacks
import PostriderNotifications
import RelayFixtures
import Testing

@testable import PostriderRelay

@Suite("The header postrider-callback")
struct CallbackHeaderTests {
    private static let url = "https://a.example/hook"
    private let counts = CallbackCounts()
    private let provider = Provider.shared

    private func callback(_ values: String..., isOn: Bool = true) throws -> String? {
        let policy = try #require(CallbackPolicy(prefixes: ["https://a.example/"]))
        let configuration = CallbackConfiguration(policy: policy, counts: counts) { _ in }
        let fields = provider.fields() + values.map { ("postrider-callback", $0) }
        return try provider.admit(fields, callbacks: isOn ? configuration : nil).get().callback
    }

    @Test("names the URL that is called, if the operator allows it")
    func allowed() throws {
        #expect(try callback(Self.url) == Self.url)
        #expect(try callback() == nil)
        #expect(counts[.ignored] == 0)
    }

    @Test("is ignored if callbacks are off or the URL is not allowed, and the push is accepted all the same")
    func ignored() throws {
        #expect(try callback(Self.url, isOn: false) == nil)
        #expect(try callback("https://b.example/", isOn: true) == nil)
        #expect(try callback("", isOn: true) == nil)
        #expect(counts[.ignored] == 2)
    }

    @Test("may come twice, as any header that Apple does not know")
    func twice() throws {
        #expect(try callback(Self.url, Self.url, isOn: false) == nil)
        #expect(try callback("https://b.example/", Self.url) == Self.url)
    }
}
