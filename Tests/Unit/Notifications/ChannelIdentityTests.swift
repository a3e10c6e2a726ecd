import PostriderNotifications
import Testing

@Suite("Channel identities")
struct ChannelIdentityTests {
    /// Both texts come from `base64` of coreutils.
    static let known: [(UInt64, UInt64, String)] = [
        (0x0001_0203_0405_0607, 0x0809_0A0B_0C0D_0E0F, "AAECAwQFBgcICQoLDA0ODw=="),
        (.max, .max, "/////////////////////w=="), (0, 0, "AAAAAAAAAAAAAAAAAAAAAA=="),
        (0xFBEF_BEFB_EFBE_FBEF, 0xBEFB_EFBE_FBEF_BEFB, "+++++++++++++++++++++w=="),
    ]

    @Test("are written in base64 and read back, with and without padding", arguments: known)
    func roundTrip(_ high: UInt64, _ low: UInt64, _ text: String) {
        let identity = ChannelIdentity(high: high, low: low)
        #expect(identity.description == text)
        #expect(ChannelIdentity(text) == identity && ChannelIdentity(String(text.dropLast(2))) == identity)
        #expect(ChannelIdentity(bytes: identity.bytes) == identity)
    }

    @Test(
        "have one spelling",
        arguments: [
            "", "A", "AAAAAAAAAAAAAAAAAAAAAB==", "AAAAAAAAAAAAAAAAAAAAAA=", "AAAAAAAAAAAAAAAAAAAAA-==",
            "AAAAAAAAAAAAAAAAAAAAA===", "AAAAAAAAAAAAAAAAAAAAAA==A", "AAAA AAAAAAAAAAAAAAAAA==",
        ])
    func misspelt(_ text: String) { #expect(ChannelIdentity(text) == nil) }

    @Test("An app's channels have one home, and its two environments need not share it")
    func home() throws {
        let topics = (0..<64).compactMap { Topic("com.example.app\($0)") }
        let homes = topics.map { ChannelOwner(topic: $0, environment: .production).home(among: 4) }
        #expect(Set(homes) == [0, 1, 2, 3])
        let others = topics.map { ChannelOwner(topic: $0, environment: .development).home(among: 4) }
        #expect(homes != others)
    }
}
