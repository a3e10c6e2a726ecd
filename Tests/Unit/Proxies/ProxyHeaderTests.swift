import PostriderProxies
import Testing

@Suite("The header of a load balancer")
struct ProxyHeaderTests {
    private static let signature: [UInt8] = [
        0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A,
    ]
    private static let ipv4: [UInt8] = [192, 0, 2, 1, 198, 51, 100, 7, 0x30, 0x39, 0x14, 0x67]
    private static let six = [UInt8](0x20...0x2F)
    private static let ipv6 = six + [UInt8](0x40...0x4F) + [0x01, 0xBB, 0x14, 0x67]

    private static func binary(_ command: UInt8, _ family: UInt8, _ rest: [UInt8]) -> [UInt8] {
        signature + [command, family, UInt8(rest.count >> 8), UInt8(rest.count & 0xFF)] + rest
    }

    private static let tlvs = ipv4 + [0x02, 0, 1, 0x61, 0xE9, 0, 2, 1, 2]
    private static let longest = ipv6 + [UInt8](repeating: 4, count: 4096 - 52)
    private static let tooLong = [UInt8](repeating: 0, count: 4081)
    private static let cut = Array(ipv4.dropLast())
    private static let path = [UInt8](repeating: 0x2F, count: 216)

    private static func text(_ line: String) -> [UInt8] { Array(line.utf8) }

    private static let named: [([UInt8], ProxyHeader.Client)] = [
        (binary(0x21, 0x11, ipv4), ProxyHeader.Client.address([192, 0, 2, 1], port: 12345)),
        (binary(0x21, 0x21, ipv6), .address(six, port: 443)),
        // TLVs, an unknown one among them (section 2.2.2).
        (
            binary(0x21, 0x11, tlvs),
            .address([192, 0, 2, 1], port: 12345)
        ),
        (
            binary(0x21, 0x21, longest),
            .address(six, port: 443)
        ),
        (text("PROXY TCP4 192.0.2.1 198.51.100.7 12345 5223\r\n"), .text("192.0.2.1", port: 12345)),
        (text("PROXY TCP6 2001:db8::1 2001:DB8::2 0 443\r\n"), .text("2001:db8::1", port: 0)),
    ]
    private static let nameless: [[UInt8]] = [
        binary(0x20, 0, []), binary(0x20, 0xFF, [1, 2, 3]), binary(0x20, 0x11, ipv4), binary(0x21, 0, []),
        binary(0x21, 0, [1, 2, 3, 4]), binary(0x21, 0x12, ipv4), binary(0x21, 0x22, ipv6),
        binary(0x21, 0x31, path),
        text("PROXY UNKNOWN\r\n"), text("PROXY UNKNOWN ffff::1 ffff::2 65535 65535\r\n"),
    ]
    private static let broken: [([UInt8], String)] = [
        (binary(0x11, 0x11, ipv4), "version 1"), (binary(0x22, 0x11, ipv4), "command 2"),
        (binary(0x21, 0x41, ipv4), "an unknown family of addresses"),
        (binary(0x21, 0x13, ipv4), "an unknown family of addresses"),
        (binary(0x21, 0x11, cut), "no room for its addresses"),
        (binary(0x21, 0x21, ipv4), "no room for its addresses"),
        (binary(0x21, 0x31, ipv6), "no room for its addresses"),
        (
            binary(0x21, 0x11, tooLong),
            "4097 bytes, of which 4096 are read at most"
        ),
        (text("PROXY TCP4 192.0.2.1 198.51.100.7 12345 5223\n"), "a line without CR at its end"),
        (text("PROXY TCP4 192.0.2.1 198.51.100.7 12345\r\n"), "a line that is none of version 1"),
        (text("PROXY TCP4  192.0.2.1 198.51.100.7 1 2\r\n"), "a line that is none of version 1"),
        (text("PROXY TCP4 192.0.2.1 198.51.100.7 01 2\r\n"), "a line that is none of version 1"),
        (text("PROXY TCP4 192.0.2.1 198.51.100.7 1 65536\r\n"), "a line that is none of version 1"),
        (text("PROXY TCP4 192.0.2.1 198.51.100.7 1 \r\n"), "a line that is none of version 1"),
        (text("PROXY TCP6 192.0.2.1 198.51.100.7 1 2\r\n"), "a line that is none of version 1"),
        (text("PROXY TCP6 fe80::1%lo fe80::2 1 2\r\n"), "a line that is none of version 1"),
        (text("PROXY UDP4 192.0.2.1 198.51.100.7 1 2\r\n"), "a line that is none of version 1"),
        (text("PROXY \r\n"), "a line that is none of version 1"),
        (text("PROXY \u{363}UNKNOWN\r\n"), "a line that is none of version 1"),
        (text("PROXY UNKNOWN " + String(repeating: "a", count: 93)), "a line that is too long"),
    ]

    /// What becomes of the bytes, with the client's first bytes behind them, in pieces of this size.
    private static func read(_ header: [UInt8], pieces size: Int) throws(ProxyHeaderFailure)
        -> (client: ProxyHeader.Client?, taken: Int)
    {
        var reader = ProxyHeader()
        var taken = 0
        let bytes = header + [0x16, 0x03, 0x01]
        for start in stride(from: 0, to: bytes.count, by: size) where reader.client == nil {
            let piece = Array(bytes[start..<min(start + size, bytes.count)])
            taken += try reader.receive(piece.span)
        }
        return (reader.client, taken)
    }

    @Test(
        "names the client, cut anywhere, and no byte behind it is taken",
        arguments: named)
    func clients(_ header: [UInt8], _ client: ProxyHeader.Client) throws {
        for size in Array(1...64) + [header.count, header.count + 3] {
            let outcome = try Self.read(header, pieces: size)
            #expect(outcome.client == client && outcome.taken == header.count)
        }
    }

    @Test(
        "names no client on a connection of its own, or of a client that has no Internet address",
        arguments: nameless)
    func unnamed(_ header: [UInt8]) throws {
        for size in 1...(header.count + 3) {
            let outcome = try Self.read(header, pieces: size)
            #expect(outcome.client == .unnamed && outcome.taken == header.count)
        }
    }

    @Test(
        "is refused if it breaks the protocol, with a sentence that says how",
        arguments: broken)
    func malformed(_ header: [UInt8], _ what: String) {
        for size in [1, 2, 7, header.count + 3] {
            #expect(throws: ProxyHeaderFailure.malformed(what)) { try Self.read(header, pieces: size) }
        }
    }

    @Test(
        "is missed at the first byte that is none of it",
        arguments: [[0x16, 0x03, 0x01], text("GET /"), text("PROXIES"), [0x0D, 0x0A, 0x0D, 0x0B]])
    func absent(_ bytes: [UInt8]) {
        var reader = ProxyHeader()
        #expect(throws: ProxyHeaderFailure.absent) { try reader.receive(bytes.span) }
        #expect("\(ProxyHeaderFailure.absent)".contains("send-proxy-v2"))
    }

    @Test("has at most 107 bytes in version 1, and so many are read")
    func longestLine() throws {
        let line = Self.text("PROXY UNKNOWN " + String(repeating: "f", count: 91) + "\r\n")
        #expect(line.count == 107)
        #expect(try Self.read(line, pieces: 200).client == .unnamed)
    }
}
