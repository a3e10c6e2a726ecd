internal import COpenSSL
internal import Glibc

/// The two secrets that a handshake of TLS 1.3 ends with (RFC 8446, 7.1), until the record layer has them.
///
/// OpenSSL gives them out in one way only: as the lines of a log (SSL_CTX_set_keylog_callback(3)). They are written
/// nowhere, and overwritten once they are used.
@safe final class TrafficSecrets {
    private var client = TrafficKey.Secret(repeating: 0)
    private var server = TrafficKey.Secret(repeating: 0)
    private var clientBytes = 0
    private var serverBytes = 0

    private static let clientLabel = "CLIENT_TRAFFIC_SECRET_0 "
    private static let serverLabel = "SERVER_TRAFFIC_SECRET_0 "
    /// Of the client's random number, and the space behind it.
    private static let randomDigits = 65

    deinit {
        unsafe withUnsafeMutableBytes(of: &client) { unsafe OPENSSL_cleanse($0.baseAddress, $0.count) }
        unsafe withUnsafeMutableBytes(of: &server) { unsafe OPENSSL_cleanse($0.baseAddress, $0.count) }
    }

    /// The one that is to be heard next; the server's comes first.
    enum Secret { case ofServer, ofClient }

    /// What has not been heard.
    var lacks: Secret? {
        if serverBytes == 0 { return .ofServer }
        return clientBytes == 0 ? .ofClient : nil
    }

    /// The keys that follow from both; nil: one of them has not been heard.
    func keys(
        _ suite: RecordSuite, _ expansion: LabelExpansion
    ) -> (ofClient: TrafficKey, ofServer: TrafficKey)? {
        guard clientBytes == suite.secretBytes, serverBytes == suite.secretBytes else { return nil }
        return (TrafficKey(client, suite, expansion), TrafficKey(server, suite, expansion))
    }

    /// Takes a line, `LABEL RANDOM SECRET`, both in hexadecimal digits, and keeps what is one of the two.
    func note(_ line: UnsafePointer<CChar>) {
        if let digits = unsafe Self.secret(behind: Self.clientLabel, in: line) {
            clientBytes = unsafe Self.decode(digits, into: &client)
        } else if let digits = unsafe Self.secret(behind: Self.serverLabel, in: line) {
            serverBytes = unsafe Self.decode(digits, into: &server)
        }
    }

    private static func secret(behind label: String, in line: UnsafePointer<CChar>) -> UnsafePointer<CChar>? {
        let offset = label.utf8.count + randomDigits
        guard unsafe strncmp(line, label, label.utf8.count) == 0, unsafe strlen(line) > offset else {
            return nil
        }
        return unsafe line + offset
    }

    /// How many bytes the digits stood for; 0: they are more than a secret has, or no digits.
    private static func decode(_ digits: UnsafePointer<CChar>, into secret: inout TrafficKey.Secret) -> Int {
        let count = unsafe strlen(digits)
        guard count % 2 == 0, count / 2 <= secret.count else { return 0 }
        for place in 0..<count {
            let digit = UInt8(bitPattern: unsafe digits[place])
            let value: UInt8
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = digit - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): value = digit - UInt8(ascii: "a") + 10
            default: return 0
            }
            secret[place / 2] = secret[place / 2] << 4 | value
        }
        return count / 2
    }
}
