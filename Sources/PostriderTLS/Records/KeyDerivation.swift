internal import CPostriderSSL

/// HKDF-Expand-Label of TLS 1.3 (RFC 8446, section 7.1) without a context, computed by OpenSSL's `TLS13-KDF`
/// (EVP_KDF-TLS13_KDF(7)). It is used by one thread at a time.
@safe final class KeyDerivation {
    /// The `EVP_KDF_CTX`, made on first use.
    private var context: OpaquePointer?

    deinit { unsafe EVP_KDF_CTX_free(context) }

    /// Derives as many bytes as `output` has from a secret. `output` must not overlap the secret.
    ///
    /// - Parameters:
    ///   - label: the label without the prefix "tls13 ".
    ///   - digest: OpenSSL's name of the suite's hash.
    func expand(
        _ secret: UnsafeMutableBufferPointer<UInt8>, _ label: StaticString, digest: StaticString,
        into output: UnsafeMutableBufferPointer<UInt8>
    ) throws(RecordViolation) {
        let context = try unsafe prepared()
        // The context copies the secret; this overwrites the copy (EVP_KDF(3): reset to the state before use).
        defer { unsafe EVP_KDF_CTX_reset(context) }
        var mode = EVP_KDF_HKDF_MODE_EXPAND_ONLY
        let status = unsafe withUnsafeMutableBytes(of: &mode) { mode in
            let parameters = unsafe [
                Self.parameter("mode", OSSL_PARAM_INTEGER, mode.baseAddress, mode.count),
                Self.parameter("digest", OSSL_PARAM_UTF8_STRING, digest),
                Self.parameter("prefix", OSSL_PARAM_OCTET_STRING, "tls13 "),
                Self.parameter("label", OSSL_PARAM_OCTET_STRING, label),
                Self.parameter("key", OSSL_PARAM_OCTET_STRING, secret.baseAddress, secret.count),
                OSSL_PARAM(),
            ]
            return unsafe EVP_KDF_derive(context, output.baseAddress, output.count, parameters)
        }
        guard status == 1 else { throw .failedCall("EVP_KDF_derive") }
    }

    private func prepared() throws(RecordViolation) -> OpaquePointer {
        if let context = unsafe context { return unsafe context }
        let function = unsafe EVP_KDF_fetch(nil, "TLS13-KDF", nil)
        // The context holds its own reference to the function.
        defer { unsafe EVP_KDF_free(function) }
        guard let made = unsafe EVP_KDF_CTX_new(function) else { throw .failedCall("EVP_KDF_CTX_new") }
        unsafe context = made
        return unsafe made
    }

    /// A parameter (OSSL_PARAM(3)) that refers to its value.
    private static func parameter(
        _ name: StaticString, _ kind: CInt, _ value: UnsafeMutableRawPointer?, _ count: Int
    ) -> OSSL_PARAM {
        unsafe OSSL_PARAM(
            key: UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self),
            data_type: UInt32(kind), data: value, data_size: count, return_size: 0)
    }

    private static func parameter(_ name: StaticString, _ kind: CInt, _ value: StaticString) -> OSSL_PARAM {
        unsafe parameter(
            name, kind, UnsafeMutableRawPointer(mutating: value.utf8Start), value.utf8CodeUnitCount)
    }
}
