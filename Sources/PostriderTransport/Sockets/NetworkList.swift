/// A list of Internet addresses and networks, read from a setting: `192.0.2.7, 10.0.0.0/8, 2001:db8::/32`
/// (RFC 4632, section 3.1; RFC 4291, section 2.3).
public struct NetworkList: Sendable, Equatable {
    /// A description of the accepted forms, for error sentences.
    public static let form =
        "addresses and networks such as 192.0.2.7, 10.0.0.0/8 or 2001:db8::/32, with commas between"

    /// The first bits of an address; of an IPv4 address the lowest 32 of the lower word count.
    private struct Network: Equatable {
        let (high, low): (UInt64, UInt64)
        let isIPv6: Bool
        let (highMask, lowMask): (UInt64, UInt64)

        init?(_ text: Substring) {
            let parts = text.split(separator: "/", omittingEmptySubsequences: false)
            guard parts.count <= 2, let first = parts.first, !first.contains("%"),
                let address = try? SocketAddress(host: String(first), port: 0),
                let (high, low) = NetworkList.words(of: address)
            else { return nil }
            isIPv6 = address.isIPv6
            let most = isIPv6 ? 128 : 32
            guard let length = parts.count == 2 ? Self.length(parts[1]) : most, length <= most else {
                return nil
            }
            // An IPv4 address stands in the last 32 of 128 bits.
            let bits = isIPv6 ? length : length + 96
            highMask = isIPv6 ? ~(UInt64.max >> UInt64(min(bits, 64))) : 0
            lowMask = ~(UInt64.max >> UInt64(max(bits - 64, 0)))
            (self.high, self.low) = (high & highMask, low & lowMask)
        }

        private static func length(_ text: Substring) -> Int? {
            text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int(text) : nil
        }

        func contains(_ words: (high: UInt64, low: UInt64)) -> Bool {
            words.high & highMask == high && words.low & lowMask == low
        }
    }

    private let networks: [Network]

    /// A list without networks.
    public init() { networks = [] }

    /// Reads a list. Bits of an address behind its network's length are ignored.
    ///
    /// - Throws: ``TransportError`` if the text does not have the ``form``.
    public init(_ text: String) throws(TransportError) {
        var networks: [Network] = []
        for word in text.split(separator: ",", omittingEmptySubsequences: false) {
            guard let network = Network(word.trimmed) else {
                throw TransportError("\(word.trimmed) is no address and no network: give \(Self.form).")
            }
            networks.append(network)
        }
        self.networks = networks
    }

    /// Whether the address is one of the list, or in one of its networks; false for a Unix socket.
    public func contains(_ address: SocketAddress) -> Bool {
        guard !networks.isEmpty, let words = Self.words(of: address) else { return false }
        return networks.contains { $0.isIPv6 == address.isIPv6 && $0.contains(words) }
    }

    private static func words(of address: SocketAddress) -> (high: UInt64, low: UInt64)? {
        switch address.kind {
        case .ipv4(let word, _): (0, UInt64(word.bigEndian))
        case .ipv6(let first, let second, _, _): (first.bigEndian, second.bigEndian)
        case .unix: nil
        }
    }
}
