internal import CPostriderCrypto

/// SHA-1 (FIPS 180-4), only for the handshake of WebSocket (RFC 6455, section 4.2.2), where it protects nothing.
package enum SHA1 {
    private static let algorithm = MessageDigest("SHA1")

    /// The digest of `bytes`: 20 bytes.
    package static func digest(_ bytes: Span<UInt8>) -> [UInt8] {
        unsafe bytes.withUnsafeBufferPointer { input in
            unsafe [UInt8](unsafeUninitializedCapacity: 20) { output, count in
                var written: UInt32 = 0
                let status = unsafe EVP_Digest(
                    input.baseAddress, input.count, output.baseAddress, &written, algorithm.pointer, nil)
                precondition(status == 1, "OpenSSL computes SHA-1")
                count = Int(written)
            }
        }
    }
}
