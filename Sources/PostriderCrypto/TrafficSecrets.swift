internal import CPostriderOpenSSL

/// The two secrets that a handshake of TLS 1.3 ends with (RFC 8446, 7.1), until the record layer has them.
///
/// They are written nowhere, and overwritten once they are used.
@safe final class TrafficSecrets {
    private var client = TrafficKey.Secret(repeating: 0)
    private var server = TrafficKey.Secret(repeating: 0)
    private var clientBytes = 0
    private var serverBytes = 0

    deinit {
        unsafe withUnsafeMutableBytes(of: &client) { unsafe OPENSSL_cleanse($0.baseAddress, $0.count) }
        unsafe withUnsafeMutableBytes(of: &server) { unsafe OPENSSL_cleanse($0.baseAddress, $0.count) }
    }

    /// The keys that follow from both; nil: one of them has not been heard.
    func keys(
        _ suite: RecordSuite, _ hkdf: HKDF
    ) -> (ofClient: TrafficKey, ofServer: TrafficKey)? {
        guard clientBytes == suite.hash.bytes, serverBytes == suite.hash.bytes else { return nil }
        return (TrafficKey(client, suite, hkdf), TrafficKey(server, suite, hkdf))
    }

    /// Takes what was derived for a label, and keeps it if it is one of the two.
    func note(_ label: UnsafeRawBufferPointer, _ secret: UnsafeRawBufferPointer) {
        if unsafe label.spells("c ap traffic") {
            clientBytes = unsafe Self.copy(secret, into: &client)
        } else if unsafe label.spells("s ap traffic") {
            serverBytes = unsafe Self.copy(secret, into: &server)
        }
    }

    private static func copy(_ bytes: UnsafeRawBufferPointer, into secret: inout TrafficKey.Secret) -> Int {
        unsafe withUnsafeMutableBytes(of: &secret) { unsafe $0.copyMemory(from: bytes) }
        return bytes.count
    }
}
