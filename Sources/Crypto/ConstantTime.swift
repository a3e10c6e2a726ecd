internal import COpenSSL

/// Whether two runs of bytes are the same, in a time that depends on their lengths only: for secrets, of
/// which a stranger may try many and measure how soon each is refused.
public func constantTimeEquals(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
    guard left.count == right.count else { return false }
    guard !left.isEmpty else { return true }
    return unsafe left.withUnsafeBufferPointer { left in
        unsafe right.withUnsafeBufferPointer { right in
            unsafe CRYPTO_memcmp(left.baseAddress, right.baseAddress, left.count) == 0
        }
    }
}
