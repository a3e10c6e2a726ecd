/// What a peer sends instead of a TLS ClientHello, if it is something that operators run into.
public enum Preamble: Sendable, Equatable, CaseIterable, CustomStringConvertible {
    /// A header of the PROXY protocol, version 1 (text) or 2 (binary), in front of TLS (haproxy.org, "The PROXY
    /// protocol").
    case proxyProtocol1
    case proxyProtocol2
    /// HTTP without TLS, of any version.
    case plainHTTP

    /// Recognises it by what follows the first five bytes: OpenSSL has taken those off the socket as the head of a
    /// record, and a line of the log is not worth a look at every connection's first bytes.
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

    /// `PROXY TCP4 192.0.2.1 …`, without its first word.
    private static func startsAsProxy1(_ rest: [UInt8]) -> Bool {
        [" TCP4 ", " TCP6 ", " UNKNOWN"].contains { rest.starts(with: $0.utf8) }
    }

    /// Bytes that are looked at: the first line of a request, where its path is not too long.
    static let mostBytes = 512

    /// A name.
    public var description: String {
        switch self {
        case .proxyProtocol1: "PROXY protocol v1"
        case .proxyProtocol2: "PROXY protocol v2"
        case .plainHTTP: "HTTP without TLS"
        }
    }

    /// What was wrong, and what to do.
    var sentence: String {
        switch self {
        case .proxyProtocol1, .proxyProtocol2:
            "it begins with a \(self) header, which is not supported yet: have the load balancer send none "
                + "(HAProxy: send-proxy, nginx: proxy_protocol)"
        case .plainHTTP: "it speaks \(self): use https, or have the load balancer use TLS to this port"
        }
    }
}
