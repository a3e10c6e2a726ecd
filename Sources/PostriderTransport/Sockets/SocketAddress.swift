internal import CPostriderLinux
internal import Glibc

/// An address on which a socket listens or to which it connects: `127.0.0.1:2197`, `[::1]:2197` or
/// `unix:/run/postrider.sock`. A link-local IPv6 address names the interface of this machine: `[fe80::1%eth0]:2197`
/// (RFC 4007, section 11).
public struct SocketAddress: Sendable, Hashable, CustomStringConvertible {
    enum Kind: Hashable {
        /// An IPv4 address in network byte order. IPv6 addresses are two words and not a SIMD vector, because Swift
        /// 6.3 makes unaligned copies of a vector that a closure in an asynchronous function captures, and crashes.
        case ipv4(UInt32, port: UInt16)
        /// An IPv6 address in network byte order. The scope is the number of the interface of a link-local address; 0
        /// otherwise.
        case ipv6(UInt64, UInt64, port: UInt16, scope: UInt32)
        case unix(path: String)
    }

    /// The size of `sun_path` without its closing zero byte.
    private static let longestPath = 107

    let kind: Kind

    init(_ kind: Kind) { self.kind = kind }

    /// Reads one of the three forms. Host names are not resolved. Port 0 lets the kernel choose.
    public init(_ text: String) throws(TransportError) {
        if text.hasPrefix("unix:") {
            try self.init(unixPath: String(text.dropFirst(5)))
            return
        }
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            throw TransportError("\(text) is no address: give 127.0.0.1:2197, [::1]:2197 or unix:/path.")
        }
        let host = text[..<colon]
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        try self.init(host: String(isBracketed ? host.dropFirst().dropLast() : host), port: port)
        if isBracketed != isIPv6 {
            throw TransportError("\(text) is no address: IPv6 addresses, and only these, stand in brackets.")
        }
    }

    /// Creates an Internet address. `host` is an IPv4 or IPv6 literal without brackets, with an optional interface
    /// (`%eth0`).
    public init(host: String, port: UInt16) throws(TransportError) {
        if let sign = host.firstIndex(of: "%") {
            kind = try Self.kind(ofLink: host, sign, port: port)
            return
        }
        var four: UInt32 = 0
        var sixteen: (UInt64, UInt64) = (0, 0)
        if unsafe inet_pton(AF_INET, host, &four) == 1 {
            kind = .ipv4(four, port: port)
        } else if unsafe inet_pton(AF_INET6, host, &sixteen) == 1 {
            kind = .ipv6(sixteen.0, sixteen.1, port: port, scope: 0)
        } else {
            throw TransportError("\(host) is neither an IPv4 nor an IPv6 address.")
        }
    }

    /// Parses a literal. The text before `%` is a link-local address, and the text after it names the interface of
    /// its link.
    private static func kind(
        ofLink host: String, _ sign: String.Index, port: UInt16
    ) throws(TransportError) -> Kind {
        guard case .ipv6(let first, let second, _, _) = try Self(host: String(host[..<sign]), port: port).kind
        else { throw TransportError("\(host) names an interface, which only an IPv6 address does.") }
        let name = String(host[host.index(after: sign)...])
        let number = unsafe if_nametoindex(name)
        let scope = number > 0 ? number : UInt32(name) ?? 0
        guard scope > 0 else {
            throw TransportError("This machine has no network interface \(name), which \(host) names.")
        }
        return .ipv6(first, second, port: port, scope: scope)
    }

    /// Creates the address of a Unix socket in the file system.
    public init(unixPath path: String) throws(TransportError) {
        guard !path.isEmpty, path.utf8.count <= Self.longestPath, !path.utf8.contains(0) else {
            throw TransportError(
                "The path of a Unix socket has 1 to \(Self.longestPath) bytes, unlike \"\(path)\".")
        }
        kind = .unix(path: path)
    }

    /// The port; nil for a Unix socket.
    public var port: UInt16? {
        switch kind {
        case .ipv4(_, let port), .ipv6(_, _, let port, _): port
        case .unix: nil
        }
    }

    /// The path of a Unix socket; nil for an Internet address.
    public var unixPath: String? {
        if case .unix(let path) = kind { path } else { nil }
    }

    /// The address without port, brackets and interface, as `init(host:port:)` reads it; nil for a Unix socket.
    public var host: String? {
        switch kind {
        case .ipv4(let word, _): Self.text(AF_INET, word)
        case .ipv6(let first, let second, _, _): Self.text(AF_INET6, (first, second))
        case .unix: nil
        }
    }

    /// The same address with another port. The address of a Unix socket is returned unchanged.
    public func with(port: UInt16) -> SocketAddress {
        switch kind {
        case .ipv4(let word, _): SocketAddress(.ipv4(word, port: port))
        case .ipv6(let first, let second, _, let scope):
            SocketAddress(.ipv6(first, second, port: port, scope: scope))
        case .unix: self
        }
    }

    /// The address in the form that `init` reads.
    public var description: String {
        switch kind {
        case .ipv4(_, let port): "\(host ?? ""):\(port)"
        case .ipv6(_, _, let port, let scope): "[\(host ?? "")\(Self.interface(scope))]:\(port)"
        case .unix(let path): "unix:\(path)"
        }
    }

    /// The name of an interface as it follows an address, or its number if it has no name.
    private static func interface(_ scope: UInt32) -> String {
        guard scope > 0 else { return "" }
        var buffer = [CChar](repeating: 0, count: Int(IF_NAMESIZE))
        guard unsafe if_indextoname(scope, &buffer) != nil else { return "%\(scope)" }
        return "%" + String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    var isIPv6: Bool {
        if case .ipv6 = kind { true } else { false }
    }

    private static func text<Words: BitwiseCopyable>(_ family: Int32, _ words: Words) -> String {
        var words = words
        var buffer = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        _ = unsafe inet_ntop(family, &words, &buffer, socklen_t(buffer.count))
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

extension SocketAddress {
    var family: Int32 {
        switch kind {
        case .ipv4: AF_INET
        case .ipv6: AF_INET6
        case .unix: AF_UNIX
        }
    }

    /// The address in a `struct sockaddr` of so many bytes; nil for a family that is not ours.
    package init?(kernelForm bytes: UnsafeRawBufferPointer) {
        var storage = sockaddr_storage()
        unsafe withUnsafeMutableBytes(of: &storage) {
            unsafe $0.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes.prefix($0.count)))
        }
        self.init(storage)
    }

    /// Reads an address that the kernel wrote into `storage`; nil for another address family.
    init?(_ storage: sockaddr_storage) {
        var copy = storage
        let kind: Kind? = unsafe withUnsafeBytes(of: &copy) { bytes in
            switch Int32(storage.ss_family) {
            case AF_INET:
                let address = unsafe bytes.load(as: sockaddr_in.self)
                return .ipv4(
                    unsafe bytes.load(fromByteOffset: 4, as: UInt32.self),
                    port: UInt16(bigEndian: address.sin_port))
            case AF_INET6:
                let address = unsafe bytes.load(as: sockaddr_in6.self)
                return .ipv6(
                    unsafe bytes.load(fromByteOffset: 8, as: UInt64.self),
                    unsafe bytes.load(fromByteOffset: 16, as: UInt64.self),
                    port: UInt16(bigEndian: address.sin6_port), scope: address.sin6_scope_id)
            case AF_UNIX:
                let path = unsafe bytes.dropFirst(2).prefix { $0 != 0 }
                return unsafe .unix(path: String(decoding: path, as: UTF8.self))
            default: return nil
            }
        }
        guard let kind else { return nil }
        self.kind = kind
    }

    /// Calls `body` with the address as a `sockaddr`.
    func withKernelForm<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        var storage = sockaddr_storage()
        storage.ss_family = sa_family_t(family)
        let length: Int = unsafe withUnsafeMutableBytes(of: &storage) { bytes in
            switch kind {
            case .ipv4(let word, let port):
                unsafe bytes.storeBytes(of: port.bigEndian, toByteOffset: 2, as: UInt16.self)
                unsafe bytes.storeBytes(of: word, toByteOffset: 4, as: UInt32.self)
                return MemoryLayout<sockaddr_in>.size
            case .ipv6(let first, let second, let port, let scope):
                unsafe bytes.storeBytes(of: port.bigEndian, toByteOffset: 2, as: UInt16.self)
                unsafe bytes.storeBytes(of: first, toByteOffset: 8, as: UInt64.self)
                unsafe bytes.storeBytes(of: second, toByteOffset: 16, as: UInt64.self)
                unsafe bytes.storeBytes(of: scope, toByteOffset: 24, as: UInt32.self)
                return MemoryLayout<sockaddr_in6>.size
            case .unix(let path):
                for (index, byte) in path.utf8.enumerated() { unsafe bytes[2 + index] = byte }
                return 2 + path.utf8.count + 1
            }
        }
        return unsafe withUnsafePointer(to: &storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe body($0, socklen_t(length))
            }
        }
    }
}
