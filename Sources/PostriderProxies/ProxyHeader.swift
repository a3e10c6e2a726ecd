/// Reads the header with which a load balancer says whose connection it forwards: the PROXY protocol, version 1 (text)
/// or version 2 (binary). (haproxy.org, "The PROXY protocol", sections 2.1 and 2.2.) Pure: it does no I/O and reads no
/// clock.
///
/// The client's first bytes follow the header at once, so `receive` says how many bytes of its input belong to the
/// header. TLVs of version 2 are skipped.
public struct ProxyHeader: Sendable {
    /// The most bytes of a header: those of version 2 with what load balancers add to the addresses. A line of
    /// version 1 is shorter.
    public static let mostBytes = 4096

    /// The client that a header names.
    public enum Client: Equatable, Sendable {
        /// The load balancer made the connection for itself, such as to check the port, or does not name the client.
        case unnamed
        /// The source's address in network byte order, 4 or 16 bytes, and its port.
        case address([UInt8], port: UInt16)
        /// The source's address as text, which may be malformed, and its port.
        case text(String, port: UInt16)
    }

    /// Whose connection it is; nil until the header is complete.
    public private(set) var client: Client?

    private enum Form { case unknown, line, binary }

    private var form = Form.unknown
    /// The bytes so far, of version 2 only up to the end of the addresses.
    private var kept: [UInt8] = []
    private var count = 0
    /// The length of a header of version 2; known after 16 bytes.
    private var length = Self.mostBytes

    private static let signature: [UInt8] = [
        0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A,
    ]
    private static let word = Array("PROXY ".utf8)
    /// Up to the end of the addresses of the family, from the beginning of the header.
    private static let (fixedBytes, ipv4Bytes, ipv6Bytes) = (16, 28, 52)
    /// The longest line of version 1, with CR and LF.
    private static let longestLine = 107

    /// Creates a header of which no byte has arrived.
    public init() {}

    /// Takes the next bytes, in pieces of any size, until the header is complete. It must not be called afterwards, nor
    /// after it has thrown an error.
    ///
    /// - Returns: how many of the bytes belong to the header; the others are the client's.
    public mutating func receive(_ bytes: Span<UInt8>) throws(ProxyHeaderFailure) -> Int {
        precondition(client == nil, "bug: the header is complete")
        for index in bytes.indices {
            try take(bytes[index])
            if client != nil { return index + 1 }
        }
        return bytes.count
    }

    private mutating func take(_ byte: UInt8) throws(ProxyHeaderFailure) {
        count += 1
        switch form {
        case .unknown:
            kept.append(byte)
            try recognise()
        case .line:
            kept.append(byte)
            if byte == 0x0A { return client = try readLine() }
            guard count < Self.longestLine else { throw .malformed("a line that is too long") }
        case .binary:
            if count <= Self.ipv6Bytes { kept.append(byte) }
            if count == Self.fixedBytes { length = try readLength() }
            if count >= Self.fixedBytes, count == length { client = readAddress() }
        }
    }

    private mutating func recognise() throws(ProxyHeaderFailure) {
        if Self.signature.starts(with: kept) {
            if kept.count == Self.signature.count { form = .binary }
        } else if Self.word.starts(with: kept) {
            if kept.count == Self.word.count { form = .line }
        } else {
            throw .absent
        }
    }
}

// MARK: - Version 2

extension ProxyHeader {
    private var isLocal: Bool { kept[12] & 0x0F == 0 }
    /// The family in the upper four bits, the transport in the lower four.
    private var family: UInt8 { kept[13] }

    /// Checks the fixed part, and returns the length of the whole header.
    private func readLength() throws(ProxyHeaderFailure) -> Int {
        guard kept[12] >> 4 == 2 else { throw .malformed("version \(kept[12] >> 4)") }
        guard kept[12] & 0x0F <= 1 else { throw .malformed("command \(kept[12] & 0x0F)") }
        let length = Self.fixedBytes + Int(kept[14]) << 8 + Int(kept[15])
        guard length <= Self.mostBytes else {
            throw .malformed("\(length) bytes, of which \(Self.mostBytes) are read at most")
        }
        guard !isLocal else { return length }
        guard family >> 4 <= 3, family & 0x0F <= 2 else { throw .malformed("an unknown family of addresses") }
        let least =
            switch family >> 4 {
            case 1: Self.ipv4Bytes
            case 2: Self.ipv6Bytes
            case 3: Self.fixedBytes + 216
            default: Self.fixedBytes
            }
        guard length >= least else { throw .malformed("no room for its addresses") }
        return length
    }

    private func readAddress() -> Client {
        guard !isLocal else { return .unnamed }
        switch family {
        case 0x11: return .address(Array(kept[16..<20]), port: UInt16(kept[24]) << 8 | UInt16(kept[25]))
        case 0x21: return .address(Array(kept[16..<32]), port: UInt16(kept[48]) << 8 | UInt16(kept[49]))
        default: return .unnamed
        }
    }
}

// MARK: - Version 1

extension ProxyHeader {
    private func readLine() throws(ProxyHeaderFailure) -> Client {
        guard kept[kept.count - 2] == 0x0D else { throw .malformed("a line without CR at its end") }
        // The bytes are split and not the text, in which a combining character would be one with the space before it.
        let fields = kept.dropLast(2).split(separator: 0x20, omittingEmptySubsequences: false)
            .map { Substring(decoding: $0, as: UTF8.self) }
        if fields[1] == "UNKNOWN" { return .unnamed }
        guard fields.count == 6, Self.isAddress(fields[2], fields[1]), Self.isAddress(fields[3], fields[1]),
            let port = Self.port(fields[4]), Self.port(fields[5]) != nil
        else { throw .malformed("a line that is none of version 1") }
        return .text(String(fields[2]), port: port)
    }

    private static func isAddress(_ text: Substring, _ protocolName: Substring) -> Bool {
        switch protocolName {
        case "TCP4": !text.isEmpty && text.utf8.allSatisfy { $0 == 0x2E || (0x30...0x39).contains($0) }
        case "TCP6":
            text.utf8.contains(0x3A)
                && text.utf8.allSatisfy { (0x2E...0x3A).contains($0) || (0x61...0x66).contains($0 | 0x20) }
        default: false
        }
    }

    /// A port as version 1 writes it: decimal, without leading zeros.
    private static func port(_ text: Substring) -> UInt16? {
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), !text.hasPrefix("0") || text == "0" else {
            return nil
        }
        return UInt16(text)
    }
}

/// Why a connection of a load balancer is not served: its header is missing or malformed.
public struct ProxyHeaderFailure: Error, Equatable, Sendable, CustomStringConvertible {
    /// A sentence about the load balancer: what it did, and what the operator can do.
    public let description: String

    private init(_ description: String) { self.description = description }

    /// The connection begins with something else.
    public static let absent = ProxyHeaderFailure(
        "the load balancer sent no PROXY header: have it send one (HAProxy: send-proxy-v2, nginx: "
            + "proxy_protocol on), or remove its address from load-balancers")
    /// The header did not arrive in time.
    public static let late = ProxyHeaderFailure("the load balancer did not send its PROXY header in time")

    /// The header breaks the protocol.
    ///
    /// - Parameter what: what it has that it must not have.
    public static func malformed(_ what: String) -> ProxyHeaderFailure {
        ProxyHeaderFailure("the load balancer sent a PROXY header that cannot be read, with \(what)")
    }
}
