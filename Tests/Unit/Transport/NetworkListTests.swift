import PostriderTransport
import Testing

@Suite("A list of networks")
struct NetworkListTests {
    @Test(
        "has the addresses that it names, and those of its networks, and no others",
        arguments: [
            ("192.0.2.7", ["192.0.2.7:1"], ["192.0.2.6:1", "192.0.2.8:1", "[::c000:207]:1"]),
            ("10.0.0.0/8", ["10.0.0.0:1", "10.255.255.255:9"], ["9.255.255.255:1", "11.0.0.0:1"]),
            ("10.1.2.3/8", ["10.9.9.9:1"], ["11.1.2.3:1"]),
            ("192.0.2.128/25", ["192.0.2.128:1", "192.0.2.255:1"], ["192.0.2.127:1"]),
            ("0.0.0.0/0", ["192.0.2.1:1"], ["[2001:db8::1]:1"]),
            ("::/0", ["[2001:db8::1]:1", "[::1]:1"], ["192.0.2.1:1"]),
            ("2001:db8::/32", ["[2001:db8:ffff::1]:1"], ["[2001:db9::1]:1", "192.0.2.1:1"]),
            ("2001:db8::/64", ["[2001:db8::ffff:0:0:1]:1"], ["[2001:db8:0:1::1]:1"]),
            ("2001:db8::8/125", ["[2001:db8::f]:1"], ["[2001:db8::7]:1", "[2001:db8::10]:1"]),
            ("::1", ["[::1]:1"], ["[::2]:1"]),
            (" 192.0.2.1 ,  ::1 ", ["192.0.2.1:1", "[::1]:1"], ["192.0.2.2:1", "unix:/run/x.sock"]),
        ])
    func members(_ text: String, _ members: [String], _ others: [String]) throws {
        let list = try NetworkList(text)
        for address in members { #expect(list.contains(try SocketAddress(address)), "\(address)") }
        for address in others { #expect(!list.contains(try SocketAddress(address)), "\(address)") }
    }

    @Test("without networks has no address")
    func none() throws { #expect(!NetworkList().contains(try SocketAddress("127.0.0.1:1"))) }

    @Test(
        "is refused, with a sentence, if one of its words is neither",
        arguments: [
            "", "192.0.2.1,", "10.0.0.0/33", "::/129", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.0/",
            "10.0.0.0/8/8",
            "balancer.example", "192.0.2", "192.0.2.1:443", "[::1]", "fe80::1%lo", "10.0.0.0 / 8",
        ])
    func malformed(_ text: String) {
        let error = #expect(throws: TransportError.self) { try NetworkList(text) }
        #expect("\(error, default: "")".contains("is no address and no network: give addresses and networks"))
    }
}
