import Glibc
import Testing

@testable import PostriderTransport

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

    @Test("An address of one link says by which interface, and reaches the kernel with it")
    func link() throws {
        let address = try SocketAddress("[fe80::1%lo]:2197")
        #expect(address.description == "[fe80::1%lo]:2197")
        #expect(try address != SocketAddress("[fe80::1]:2197"))
        let number = unsafe if_nametoindex("lo")
        #expect(try address == SocketAddress("[fe80::1%\(number)]:2197"))
        let copy = unsafe address.withKernelForm { pointer, _ in
            unsafe pointer.withMemoryRebound(to: sockaddr_storage.self, capacity: 1) {
                SocketAddress(unsafe $0.pointee)
            }
        }
        #expect(copy == address)
        // Certificates name no interface.
        #expect(address.host == "fe80::1")
    }

    @Test("An address of a link that is not there is refused with a sentence")
    func missingLink() {
        for text in ["[fe80::1%nowhere]:1", "[fe80::1%]:1", "127.0.0.1%lo:1"] {
            #expect(throws: TransportError.self, "\(text)") { try SocketAddress(text) }
        }
        let error = #expect(throws: TransportError.self) { try SocketAddress("[fe80::1%nowhere]:1") }
        #expect(
            error?.description
                == "This machine has no network interface nowhere, which fe80::1%nowhere names.")
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
