internal import COpenSSL

/// What all TLS streams of one thread derive their keys with: HKDF-Expand-Label (RFC 8446, 7.1).
///
/// A context of each hash is kept. Without one, OpenSSL looks HMAC up by its name and makes a context for each call, of
/// which a handshake has four.
@safe final class LabelExpansion {
    /// Of each hash one, made when it is used.
    private var contexts = unsafe InlineArray<2, OpaquePointer?>(repeating: nil)

    deinit { for index in unsafe contexts.indices { unsafe EVP_MAC_CTX_free(contexts[index]) } }

    /// Derives no more bytes than the hash has: of such HKDF is one HMAC (RFC 5869, 2.3).
    func expand(
        _ secret: TrafficKey.Secret, _ label: String, _ suite: RecordSuite,
        into output: UnsafeMutableRawBufferPointer
    ) {
        let context = unsafe context(suite)
        var information =
            [0, UInt8(output.count), UInt8(6 + label.utf8.count)] + Array("tls13 \(label)".utf8)
        information += [0, 1]
        var derived = InlineArray<64, UInt8>(repeating: 0)
        unsafe withUnsafeBytes(of: secret) { secret in
            unsafe withUnsafeMutableBytes(of: &derived) { derived in
                let key = unsafe secret.bindMemory(to: UInt8.self).baseAddress
                let start = unsafe derived.bindMemory(to: UInt8.self).baseAddress
                var count = 0
                let isDone =
                    unsafe EVP_MAC_init(context, key, suite.secretBytes, nil) == 1
                    && EVP_MAC_update(context, information, information.count) == 1
                    && EVP_MAC_final(context, start, &count, derived.count) == 1
                precondition(isDone && count >= output.count, "OpenSSL has HMAC with SHA-2")
                unsafe output.copyBytes(from: derived.prefix(output.count))
                unsafe OPENSSL_cleanse(derived.baseAddress, derived.count)
            }
        }
    }

    /// Overwrites what the context keeps of the secret that it was used with last.
    func forget(_ suite: RecordSuite) {
        let nothing = TrafficKey.Secret(repeating: 0)
        unsafe withUnsafeBytes(of: nothing) { nothing in
            let key = unsafe nothing.bindMemory(to: UInt8.self).baseAddress
            let status = unsafe EVP_MAC_init(context(suite), key, suite.secretBytes, nil)
            precondition(status == 1, "HMAC takes any key")
        }
    }

    private func context(_ suite: RecordSuite) -> OpaquePointer {
        let index = suite.secretBytes == 32 ? 0 : 1
        if let context = unsafe contexts[index] { return unsafe context }
        let mac = unsafe EVP_MAC_fetch(nil, "HMAC", nil)
        guard let context = unsafe EVP_MAC_CTX_new(mac) else { preconditionFailure("OpenSSL has HMAC") }
        // The context keeps it.
        unsafe EVP_MAC_free(mac)
        var digest = Array(suite.digestName.utf8CString)
        let status = unsafe digest.withUnsafeMutableBufferPointer {
            var parameters = unsafe [
                OSSL_PARAM_construct_utf8_string("digest", $0.baseAddress, 0), OSSL_PARAM_construct_end(),
            ]
            return unsafe EVP_MAC_CTX_set_params(context, &parameters)
        }
        precondition(status == 1, "OpenSSL has SHA-2")
        unsafe contexts[index] = context
        return unsafe context
    }
}
