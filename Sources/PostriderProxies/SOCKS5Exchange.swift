/// The messages of SOCKS 5 (RFC 1928), with a user and a password (RFC 1929) if there are any.
///
///     greeting ──▶ method ──▶ [user and password ──▶ verdict] ──▶ request ──▶ reply
struct SOCKS5Exchange {
    private enum Phase { case method, verdict, reply }

    private let target: TunnelTarget
    private let credentials: ProxyCredentials?
    private var phase = Phase.method
    /// The received bytes of the current message of the proxy: at most 262 bytes, the longest reply.
    private var waiting: [UInt8] = []

    private static let version: UInt8 = 5
    /// The version of the username/password negotiation (RFC 1929, section 2).
    private static let credentialsVersion: UInt8 = 1
    private static let success: UInt8 = 0

    private enum Method {
        static let none: UInt8 = 0
        static let credentials: UInt8 = 2
    }

    private enum AddressType {
        static let ipv4: UInt8 = 1
        static let name: UInt8 = 3
        static let ipv6: UInt8 = 4
    }

    init(to target: TunnelTarget, as credentials: ProxyCredentials?) {
        self.target = target
        self.credentials = credentials
    }

    /// The first message: the authentication methods that the client supports.
    var greeting: [UInt8] {
        let methods = credentials == nil ? [Method.none] : [Method.none, Method.credentials]
        return [Self.version, UInt8(methods.count)] + methods
    }

    mutating func receive(_ bytes: Span<UInt8>) throws(TunnelFailure) -> TunnelHandshake.Step {
        var step = TunnelHandshake.Step.wait
        for index in bytes.indices {
            // The proxy answers one message at a time, and sends nothing after its last answer.
            guard step == .wait else { throw .excess }
            waiting.append(bytes[index])
            step = try advance()
        }
        return step
    }

    /// Checks the received bytes after each new byte.
    private mutating func advance() throws(TunnelFailure) -> TunnelHandshake.Step {
        switch phase {
        case .method:
            guard waiting[0] == Self.version else { throw .notSOCKS5 }
            guard waiting.count == 2 else { return .wait }
            return try methodChosen(waiting[1])
        case .verdict:
            guard waiting[0] == Self.credentialsVersion else { throw .notSOCKS5 }
            guard waiting.count == 2 else { return .wait }
            guard waiting[1] == Self.success else {
                throw TunnelFailure("\(TunnelFailure.wrongCredentials) (status \(waiting[1]))")
            }
            return next(.reply, request)
        case .reply:
            guard waiting[0] == Self.version else { throw .notSOCKS5 }
            // The rest of a refusal is not needed, and some proxies do not send all of it.
            if waiting.count == 2, waiting[1] != Self.success { throw failure(waiting[1]) }
            return try replyByteCount == waiting.count ? .established : .wait
        }
    }

    private mutating func methodChosen(_ method: UInt8) throws(TunnelFailure) -> TunnelHandshake.Step {
        switch (method, credentials) {
        case (Method.none, _): return next(.reply, request)
        case (Method.credentials, let credentials?): return next(.verdict, Self.message(of: credentials))
        case (0xFF, nil):
            throw TunnelFailure(
                "accepts no client without authentication (no acceptable methods): "
                    + TunnelFailure.wantsCredentials)
        case (0xFF, _?):
            throw TunnelFailure(
                "accepts neither a user with a password nor a client without (no acceptable methods)")
        default: throw .notSOCKS5
        }
    }

    private mutating func next(_ phase: Phase, _ message: [UInt8]) -> TunnelHandshake.Step {
        self.phase = phase
        waiting = []
        return .send(message)
    }

    private static func message(of credentials: ProxyCredentials) -> [UInt8] {
        [credentialsVersion, UInt8(credentials.user.utf8.count)] + Array(credentials.user.utf8)
            + [UInt8(credentials.password.utf8.count)] + Array(credentials.password.utf8)
    }

    /// The request to connect to the target (RFC 1928, section 4).
    private var request: [UInt8] {
        let address: [UInt8] =
            switch target.host {
            case .name(let name): [AddressType.name, UInt8(name.utf8.count)] + Array(name.utf8)
            case .address(let bytes, _): [bytes.count == 4 ? AddressType.ipv4 : AddressType.ipv6] + bytes
            }
        return [Self.version, 1, 0] + address
            + [UInt8(target.port >> 8), UInt8(truncatingIfNeeded: target.port)]
    }

    /// The length of the current reply (RFC 1928, section 6); nil until it is known.
    private var replyByteCount: Int? {
        get throws(TunnelFailure) {
            guard waiting.count >= 5 else { return nil }
            let addressBytes =
                switch waiting[3] {
                case AddressType.ipv4: 4
                case AddressType.ipv6: 16
                case AddressType.name: 1 + Int(waiting[4])
                default: throw .notSOCKS5
                }
            return 4 + addressBytes + 2
        }
    }

    private func failure(_ reply: UInt8) -> TunnelFailure {
        let code = Int(reply)
        let name = (1...Self.names.count).contains(code) ? Self.names[code - 1] : "unassigned"
        let told = "(\(name), reply \(code))"
        return code == 2
            ? TunnelFailure("forbids the connection \(told): have it allow connections to \(target)")
            : TunnelFailure("does not connect to \(target) \(told)")
    }

    /// The names of the reply codes from 1 on (RFC 1928, section 6).
    private static let names = [
        "general SOCKS server failure", "connection not allowed by ruleset", "network unreachable",
        "host unreachable", "connection refused", "TTL expired", "command not supported",
        "address type not supported",
    ]
}
