internal import CPostriderCrypto

/// HMAC (RFC 2104).
public enum HMAC {
    /// The code of a message with SHA-256: 32 bytes.
    public static func sha256(of message: Span<UInt8>, key: Span<UInt8>) -> [UInt8] {
        var code = [UInt8](repeating: 0, count: SHA256Digest.byteCount)
        var count = 0
        let size = code.count
        let result = unsafe key.withUnsafeBufferPointer { key in
            unsafe message.withUnsafeBufferPointer { message in
                unsafe EVP_Q_mac(
                    nil, "HMAC", nil, "SHA256", nil, key.baseAddress, key.count, message.baseAddress,
                    message.count, &code, size, &count)
            }
        }
        precondition(unsafe result != nil && count == size, "OpenSSL's default provider has HMAC with SHA256")
        return code
    }
}
