import FoundationEssentials

/// The CONNECT request and the head of its response (RFC 9110, section 9.3.6; RFC 9112, sections 3 and 4).
struct ConnectExchange {
    /// The most bytes of the response head, interim responses included.
    static let mostHeadBytes = 16_384
    /// The most bytes that a sentence shows of a text from the proxy.
    private static let mostShownBytes = 80

    let request: [UInt8]
    private let target: TunnelTarget
    private let hasCredentials: Bool
    /// The incomplete line at the end of the received bytes.
    private var waiting: [UInt8] = []
    /// The number of bytes received so far.
    private var byteCount = 0
    /// The status line of the current head; nil until it is complete.
    private var status: Status?
    /// The authentication schemes that the proxy offers (RFC 9110, section 11.7.1).
    private var schemes: [String] = []

    private struct Status {
        let code: Int
        /// The code with the reason phrase, for messages: `407 Proxy Authentication Required`.
        let text: String
    }

    init(to target: TunnelTarget, as credentials: ProxyCredentials?) {
        self.target = target
        hasCredentials = credentials != nil
        var lines = ["CONNECT \(target) HTTP/1.1", "Host: \(target)"]
        if let credentials {
            let pair = Data("\(credentials.user):\(credentials.password)".utf8).base64EncodedString()
            lines.append("Proxy-Authorization: Basic \(pair)")
        }
        request = Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
    }

    mutating func receive(_ bytes: Span<UInt8>) throws(TunnelFailure) -> TunnelHandshake.Step {
        for index in bytes.indices {
            byteCount += 1
            guard byteCount <= Self.mostHeadBytes else { throw .longHead }
            guard bytes[index] == UInt8(ascii: "\n") else {
                waiting.append(bytes[index])
                continue
            }
            if waiting.last == UInt8(ascii: "\r") { waiting.removeLast() }
            let line = waiting
            waiting = []
            guard try take(line) else { continue }
            guard index == bytes.count - 1 else { throw .excess }
            return .established
        }
        // A server of another protocol may never send a line break.
        if status == nil, !waiting.starts(with: Self.version.prefix(waiting.count)) { throw .notHTTP }
        return .wait
    }

    /// Takes a line of the head, and returns whether it is the last line of a successful response.
    private mutating func take(_ line: [UInt8]) throws(TunnelFailure) -> Bool {
        guard let status else {
            self.status = try Self.status(line)
            return false
        }
        guard line.isEmpty else {
            note(line)
            return false
        }
        switch status.code {
        case 100..<200:
            self.status = nil
            return false
        case 200..<300: return true
        default: throw failure(status)
        }
    }

    private static let version = Array("HTTP/1.".utf8)

    /// Reads `HTTP/1.1 200 Connection established` (RFC 9112, section 4).
    private static func status(_ line: [UInt8]) throws(TunnelFailure) -> Status {
        let parts = line.split(separator: UInt8(ascii: " "), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count >= 2, parts[0].starts(with: version), parts[0].count == version.count + 1,
            parts[1].count == 3, parts[1].allSatisfy({ (0x30...0x39).contains($0) }),
            let code = Int(String(decoding: parts[1], as: UTF8.self)), code >= 100
        else { throw .notHTTP }
        let reason = parts.count == 3 ? shown(parts[2]) : ""
        return Status(code: code, text: reason.isEmpty ? "\(code)" : "\(code) \(reason)")
    }

    /// The printable part of a text from the proxy.
    private static func shown(_ bytes: ArraySlice<UInt8>) -> String {
        String(decoding: bytes.prefix(mostShownBytes).prefix { (0x20..<0x7F).contains($0) }, as: UTF8.self)
    }

    /// Stores the scheme of a `Proxy-Authenticate` field.
    private mutating func note(_ line: [UInt8]) {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")),
            String(decoding: line[..<colon], as: UTF8.self).lowercased() == "proxy-authenticate"
        else { return }
        let value = line[(colon + 1)...].drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        let scheme = Self.shown(value.prefix { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: ",") })
        if !scheme.isEmpty, schemes.count < 8, !schemes.contains(scheme) { schemes.append(scheme) }
    }

    private func failure(_ status: Status) -> TunnelFailure {
        switch status.code {
        // Some proxies, such as tinyproxy, answer wrong credentials with 401.
        case 401, 407:
            if !schemes.isEmpty, !schemes.contains(where: { $0.lowercased() == "basic" }) {
                return TunnelFailure(
                    "asks for authentication by \(schemes.joined(separator: " or ")) (\(status.text)), but "
                        + "only Basic is supported: have it accept Basic, or connections from this machine")
            }
            return hasCredentials
                ? TunnelFailure("\(TunnelFailure.wrongCredentials) (\(status.text))")
                : TunnelFailure(
                    "asks for a user and a password (\(status.text)): \(TunnelFailure.wantsCredentials)")
        case 403, 405:
            return TunnelFailure(
                "forbids the connection (\(status.text)): have it allow CONNECT to \(target)")
        case 502, 503, 504: return TunnelFailure("cannot reach \(target) (\(status.text))")
        default: return TunnelFailure("does not connect to \(target) (\(status.text))")
        }
    }

    /// The failure if the proxy has closed the connection. A complete status line still counts.
    var failureAtEnd: TunnelFailure {
        guard let status, status.code >= 300 else { return .closed }
        return failure(status)
    }
}
