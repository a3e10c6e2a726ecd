/// How the value of a header field is checked, by its name (RFC 9113, sections 8.2 and 8.3).
enum HeaderFieldKind: UInt8, Sendable {
    case method
    case path
    case scheme
    case authority
    case contentLength
    /// Most fields.
    case regular
    /// A field that has rules of its own, or is not allowed: nghttp2 has to judge it.
    case special

    /// The kind of a name as it was sent.
    init(_ name: UnsafeBufferPointer<UInt8>) {
        let name = unsafe name.span
        switch name.count {
        case 5 where name.matches(":path"): self = .path
        case 7 where name.matches(":method"): self = .method
        case 7 where name.matches(":scheme"): self = .scheme
        case 10 where name.matches(":authority"): self = .authority
        case 14 where name.matches("content-length"): self = .contentLength
        case 2 where name.matches("te"), 4 where name.matches("host"), 6 where name.matches("expect"),
            7 where name.matches("upgrade"),
            10 where name.matches("connection"), 10 where name.matches("keep-alive"),
            16 where name.matches("proxy-connection"), 17 where name.matches("transfer-encoding"):
            self = .special
        default: self = Self.isPlainName(name) ? .regular : .special
        }
    }

    /// Whether nghttp2 accepts a value in any case. It checks all others itself; they are rare.
    func isPlain(_ value: UnsafeBufferPointer<UInt8>) -> Bool {
        let value = unsafe value.span
        switch self {
        case .method:
            guard !value.isEmpty, !value.matches("CONNECT") else { return false }
            for index in value.indices where !(0x41...0x5A ~= value[index]) { return false }
            return true
        case .path:
            return !value.isEmpty && value[0] == UInt8(ascii: "/") && value.consists(of: PathBytes.self)
        case .scheme: return value.matches("https") || value.matches("http")
        case .authority:
            for index in value.indices where value[index] == UInt8(ascii: "/") { return false }
            return !value.isEmpty && value.consists(of: PathBytes.self)
        case .contentLength:
            guard 1...15 ~= value.count else { return false }
            for index in value.indices where !(0x30...0x39 ~= value[index]) { return false }
            return true
        case .regular:
            guard let last = value.indices.last else { return true }
            return value[0] != 0x20 && value[last] != 0x20 && value.consists(of: TextBytes.self)
        case .special: return false
        }
    }

    private static func isPlainName(_ name: Span<UInt8>) -> Bool {
        guard !name.isEmpty else { return false }
        for index in name.indices {
            switch name[index] {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "-"):
                continue
            default: return false
            }
        }
        return true
    }
}

/// A set of bytes, tested eight at a time.
private protocol ByteKind {
    /// Whether all eight bytes are in the set.
    static func holds(_ word: UInt64) -> Bool
    /// A byte of the set.
    static var sample: UInt8 { get }
}

/// Visible ASCII characters and spaces.
private enum TextBytes: ByteKind {
    static var sample: UInt8 { 0x20 }

    static func holds(_ word: UInt64) -> Bool {
        let each: UInt64 = 0x0101_0101_0101_0101
        let top = each << 7
        // Each byte has seven bits, so no sum carries into the next byte.
        guard word & top == 0 else { return false }
        return (word &+ each &* 0x60) & ~(word &+ each) & top == top
    }
}

/// Letters, digits, `-`, `.`, `/` and `:`: the characters of the paths and authorities of pushes.
private enum PathBytes: ByteKind {
    static var sample: UInt8 { UInt8(ascii: "/") }

    static func holds(_ word: UInt64) -> Bool {
        let each: UInt64 = 0x0101_0101_0101_0101
        let top = each << 7
        guard word & top == 0 else { return false }
        let others = (word &+ each &* 0x53) & ~(word &+ each &* 0x45)
        let lower = word | each << 5
        let letters = (lower &+ each &* 0x1F) & ~(lower &+ each &* 0x05)
        return (others | letters) & top == top
    }
}

extension Span where Element == UInt8 {
    @inline(__always)
    fileprivate func consists<Kind: ByteKind>(of kind: Kind.Type) -> Bool {
        unsafe withUnsafeBytes { all in
            var next = 0
            while next + 8 <= all.count {
                guard unsafe Kind.holds(all.loadUnaligned(fromByteOffset: next, as: UInt64.self)) else {
                    return false
                }
                next += 8
            }
            guard next < all.count else { return true }
            var word = UInt64(Kind.sample) &* 0x0101_0101_0101_0101
            while next < all.count {
                word = unsafe word << 8 | UInt64(all[next])
                next += 1
            }
            return Kind.holds(word)
        }
    }
}
