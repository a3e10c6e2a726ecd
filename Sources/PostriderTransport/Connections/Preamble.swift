/// What a peer sent instead of a TLS ClientHello, as far as it is a common mistake of configuration.
public enum Preamble: Sendable, Equatable, CaseIterable, CustomStringConvertible {
    /// A header of the PROXY protocol, version 1 (text) or 2 (binary), before TLS (haproxy.org, "The PROXY
    /// protocol").
    case proxyProtocol1
    case proxyProtocol2
    /// An HTTP request without TLS, of any version.
    case plainHTTP

    /// Recognises the preamble from the bytes after the first five. OpenSSL has consumed those five as a TLS record
    /// header, and peeking at the first bytes of every connection would cost too much for the sake of a log line.
    init?(afterRecordHead rest: [UInt8]) {
        if Self.startsAsProxy1(rest) {
            self = .proxyProtocol1
        } else if rest.starts(with: "\r\nQUIT\n".utf8) {
            self = .proxyProtocol2
        } else if String(decoding: rest.prefix { $0 != 0x0A }, as: UTF8.self).contains(" HTTP/") {
            self = .plainHTTP
        } else {
            return nil
        }
    }

    /// Whether the bytes continue `PROXY TCP4 192.0.2.1 …` after its first word.
    private static func startsAsProxy1(_ rest: [UInt8]) -> Bool {
        [" TCP4 ", " TCP6 ", " UNKNOWN"].contains { rest.starts(with: $0.utf8) }
    }

    /// The most bytes examined: enough for the first line of a request unless its path is very long.
    static let mostBytes = 512

    /// The name of the protocol.
    public var description: String {
        switch self {
        case .proxyProtocol1: "PROXY protocol v1"
        case .proxyProtocol2: "PROXY protocol v2"
        case .plainHTTP: "HTTP without TLS"
        }
    }

    /// A sentence that says what was wrong and what to do.
    var sentence: String {
        switch self {
        case .proxyProtocol1, .proxyProtocol2:
            "it begins with a \(self) header, and its address is none of load-balancers: name it there, "
                + "or have the load balancer send none (HAProxy: send-proxy, nginx: proxy_protocol)"
        case .plainHTTP: "it speaks \(self): use https, or have the load balancer use TLS to this port"
        }
    }
}
