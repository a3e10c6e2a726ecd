/// The two secrets that protect the records after a server's TLS 1.3 handshake (RFC 8446, section 7.1), from the time
/// at which OpenSSL reports them until the record layer has its keys.
///
/// OpenSSL reports them as lines in the NSS key log format to the callback that SSL_CTX_set_keylog_callback(3)
/// documents: a label, the client's random, and the secret, as hexadecimal digits separated by blanks. They are not
/// written to any file, and their memory is overwritten when this object is released.
@safe final class TrafficSecrets {
    /// The bytes of the random in a ClientHello.
    static let randomBytes = 32

    private struct Secret: ~Copyable {
        let label: StaticString
        let memory = SecretBytes(count: TrafficKey.mostSecretBytes)
        /// The length of the secret in bytes; 0 if it was not reported.
        var count = 0
    }

    private var client = Secret(label: "CLIENT_TRAFFIC_SECRET_0")
    private var server = Secret(label: "SERVER_TRAFFIC_SECRET_0")
    /// Whether a line with one of the two labels was malformed. None of the secrets is used then.
    private var isMalformed = false

    /// Makes the record layer with these secrets; nil if one of them is missing, or has another length than the
    /// suite's hash.
    func records(
        _ suite: RecordSuite, contentLimit: Int, _ derivation: KeyDerivation
    ) -> RecordLayer? {
        let bytes = suite.secretBytes
        guard !isMalformed, client.count == bytes, server.count == bytes,
            let receiving = try? unsafe TrafficKey(client.memory[0..<bytes], suite, derivation),
            let sending = try? unsafe TrafficKey(server.memory[0..<bytes], suite, derivation)
        else { return nil }
        return RecordLayer(suite, receiving: receiving, sending: sending, contentLimit: contentLimit)
    }

    /// Reads a line without its line break, and keeps its secret if it is one of the two.
    ///
    /// - Parameter random: the client's random of this handshake.
    func take(line: UnsafeBufferPointer<UInt8>, random: UnsafeBufferPointer<UInt8>) {
        guard let blank = unsafe line.firstIndex(of: UInt8(ascii: " ")) else { return }
        let label = unsafe UnsafeBufferPointer(rebasing: line[..<blank])
        let rest = unsafe UnsafeBufferPointer(rebasing: line[(blank + 1)...])
        if unsafe Self.isSame(label, client.label) {
            isMalformed = unsafe !Self.read(rest, random, into: &client) || isMalformed
        } else if unsafe Self.isSame(label, server.label) {
            isMalformed = unsafe !Self.read(rest, random, into: &server) || isMalformed
        }
    }

    /// Reads random and secret of a line. Returns false if the line is malformed or of another handshake, or if the
    /// secret is known already.
    private static func read(
        _ rest: UnsafeBufferPointer<UInt8>, _ random: UnsafeBufferPointer<UInt8>,
        into secret: inout Secret
    ) -> Bool {
        let digits = 2 * randomBytes
        let count = (rest.count - digits - 1) / 2
        guard secret.count == 0, random.count == randomBytes, 32...TrafficKey.mostSecretBytes ~= count,
            rest.count == digits + 1 + 2 * count, unsafe rest[digits] == UInt8(ascii: " ")
        else { return false }
        for place in 0..<randomBytes {
            guard unsafe byte(rest, at: 2 * place) == random[place] else { return false }
        }
        let memory = unsafe secret.memory[0..<count]
        for place in 0..<count {
            guard let byte = unsafe byte(rest, at: digits + 1 + 2 * place) else { return false }
            unsafe memory[place] = byte
        }
        secret.count = count
        return true
    }

    /// The value of two hexadecimal digits; nil if they are not.
    private static func byte(_ digits: UnsafeBufferPointer<UInt8>, at place: Int) -> UInt8? {
        guard let high = unsafe nibble(digits[place]), let low = unsafe nibble(digits[place + 1]) else {
            return nil
        }
        return high << 4 | low
    }

    private static func nibble(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        default: nil
        }
    }

    private static func isSame(_ bytes: UnsafeBufferPointer<UInt8>, _ text: StaticString) -> Bool {
        unsafe bytes.elementsEqual(
            UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }
}
