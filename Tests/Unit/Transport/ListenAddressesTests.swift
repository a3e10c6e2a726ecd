import PostriderTransport
import Testing

@Suite("Addresses of a listener")
struct ListenAddressesTests {
    private func read(_ text: String, hasIPv6: Bool = true) throws -> [String] {
        try ListenAddresses.read(text) { _ in hasIPv6 }.map(\.description)
    }

    @Test(
        "are one or several, and names mean what people expect", .bug(id: "R10"),
        arguments: [
            ("0.0.0.0:2197", ["0.0.0.0:2197"]),
            ("127.0.0.1:1, [::1]:1", ["127.0.0.1:1", "[::1]:1"]),
            ("[::1]:1,127.0.0.1:2", ["[::1]:1", "127.0.0.1:2"]),
            ("*:2197", ["0.0.0.0:2197", "[::]:2197"]),
            ("[::]:2197", ["[::]:2197", "0.0.0.0:2197"]),
            ("[::]:2197, 192.0.2.1:2197", ["[::]:2197", "192.0.2.1:2197"]),
            ("[::]:2197, 192.0.2.1:2198", ["[::]:2197", "0.0.0.0:2197", "192.0.2.1:2198"]),
            ("0.0.0.0:1, [::]:1", ["0.0.0.0:1", "[::]:1"]),
            ("localhost:5223", ["127.0.0.1:5223", "[::1]:5223"]),
            ("*:1, *:1", ["0.0.0.0:1", "[::]:1"]),
        ])
    func forms(_ text: String, _ addresses: [String]) throws {
        #expect(try read(text) == addresses)
    }

    @Test("of IPv6 that only stand behind a name are left out on a machine without it", .bug(id: "R10"))
    func withoutIPv6() throws {
        #expect(try read("*:1", hasIPv6: false) == ["0.0.0.0:1"])
        #expect(try read("localhost:1", hasIPv6: false) == ["127.0.0.1:1"])
        #expect(try read("[::]:1", hasIPv6: false) == ["[::]:1", "0.0.0.0:1"])
        #expect(try read("[::1]:1", hasIPv6: false) == ["[::1]:1"])
    }

    @Test(
        "are nothing else",
        arguments: ["", "*", "localhost", "unix:/a", "a:1,", "example.org:1", "*:99999", "::1:1"])
    func mistakes(_ text: String) {
        #expect(throws: TransportError.self) { try read(text) }
    }

    @Test("keep everything but the port when it changes")
    func ports() throws {
        for (text, changed) in [
            ("127.0.0.1:0", "127.0.0.1:7"), ("[::1]:0", "[::1]:7"), ("unix:/a", "unix:/a"),
        ] {
            #expect(try SocketAddress(text).with(port: 7).description == changed)
        }
    }
}
