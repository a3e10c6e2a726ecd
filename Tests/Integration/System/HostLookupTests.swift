import PostriderTransport
import Testing

@testable import PostriderSystem

@Suite("A look-up of a host")
struct HostLookupTests {
    @Test("finds the addresses of a name, with the port")
    func names() throws {
        let addresses = try HostLookup.addresses(of: "localhost", port: 4711).get()
        #expect(addresses.contains { $0.description == "127.0.0.1:4711" || $0.description == "[::1]:4711" })
        #expect(throws: TransportError.self) {
            try HostLookup.addresses(of: "nowhere.invalid", port: 1).get()
        }
    }
}
