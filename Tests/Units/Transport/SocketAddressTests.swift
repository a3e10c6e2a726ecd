import Testing

@testable import Transport

@Suite struct SocketAddressTests {
    @Test(
        "An address is read and written in the same form",
        arguments: ["127.0.0.1:2197", "0.0.0.0:0", "[::1]:2197", "[2001:db8::1]:65535", "unix:/run/x.sock"])
    func roundTrip(text: String) throws {
        #expect(try SocketAddress(text).description == text)
    }

    @Test(
        "What is no address is refused with a sentence",
        arguments: [
            "", "2197", "localhost:2197", "127.0.0.1", "127.0.0.1:65536", "127.0.0.1:x", "::1:2197",
            "[127.0.0.1]:1",
            "[::1]", "unix:", "unix:/" + String(repeating: "x", count: 107), "256.0.0.1:1",
        ])
    func refused(text: String) {
        #expect(throws: TransportError.self) { try SocketAddress(text) }
    }

    @Test("The longest path of a Unix socket is kept whole")
    func longPath() throws {
        let text = "unix:/" + String(repeating: "x", count: 106)
        #expect(try SocketAddress(text).description == text)
    }

    @Test("An address is the same in a closure of an asynchronous function")
    func captured() async throws {
        let (first, second) = (try SocketAddress("127.0.0.1:1"), try SocketAddress("[::1]:2"))
        await Task.yield()
        #expect(Self.text(of: "\(first) \(second)") == "127.0.0.1:1 [::1]:2")
    }

    private static func text(of make: @autoclosure () -> String) -> String { make() }
}
