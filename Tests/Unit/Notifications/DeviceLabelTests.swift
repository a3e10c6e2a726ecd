import PostriderNotifications
import Testing

@Suite("Names and tags of devices")
struct DeviceLabelTests {
    private let identity = DeviceIdentity(high: 0x0123_4567_89AB_CDEF, low: 0x0123_4567)

    @Test(
        "are what host names are",
        arguments: [
            ("kiosk-7", true), ("a", true), ("kiosk-7.lobby.example.org", true), ("7", true),
            (String(repeating: "k", count: 63), true), (String(repeating: "k", count: 64), false),
            ("", false),
            ("-a", false), ("a-", false), ("a.", false), ("a b", false), ("a_b", false), ("küche", false),
            ("a/b", false), ("a?b", false), ("a\u{0}", false), ("0123456789abcdef01234567", false),
        ])
    func names(_ text: String, _ isName: Bool) { #expect((DeviceName(text) != nil) == isName) }

    @Test(
        "may have an underscore where they are tags, as groups of Ansible have",
        arguments: [
            ("lobby", true), ("web_servers", true), ("_a", false), ("a,b", false), ("a b", false),
            ("", false),
            ("a=b", false), (String(repeating: "k", count: 64), false),
        ])
    func tags(_ text: String, _ isTag: Bool) { #expect((DeviceTag(text) != nil) == isTag) }

    @Test(
        "come nearest to what a device calls itself",
        arguments: [
            ("kiosk-7", "kiosk-7"), ("demo device", "demo-device"), ("a_b", "a-b"), ("  x  ", "x"),
            ("Küche", "K--che"), ("☎", "device-01234567"), ("", "device-01234567"),
            ("0123456789abcdef01234567", "device-01234567"),
            (String(repeating: "d", count: 255), String(repeating: "d", count: 63)),
        ])
    func said(_ said: String, _ name: String) {
        #expect(DeviceName(of: identity, calledItself: said).text == name)
    }

    @Test("stay within their length with a number behind them")
    func numbers() throws {
        #expect(try #require(DeviceName("a")).numbered(2).text == "a-2")
        let long = try #require(DeviceName(String(repeating: "k", count: 63))).numbered(12)
        #expect(long.text == String(repeating: "k", count: 60) + "-12")
    }

    @Test("are read from words with spaces between, all or none")
    func list() {
        #expect(DeviceTag.list("a b")?.map(\.text) == ["a", "b"])
        #expect(DeviceTag.list("")?.isEmpty == true)
        #expect(DeviceTag.list("a b,c") == nil)
    }
}
