internal import CPostriderCrypto

/// AES-SIV (RFC 5297) of one block: 16 bytes become 32 bytes that reveal only whether two plaintexts are equal, and
/// that cannot be made or changed without the key. It is deterministic: it needs no nonce, and the same plaintext
/// always gives the same bytes.
///
/// For a plaintext of exactly one block without associated data, the RFC amounts to two AES calls:
/// ```
/// V = AES(K1, P xor CMAC(K1, 0) xor dbl(AES(K1, 0)))                         (section 2.4)
/// C = P xor AES(K2, V with the top bits of its last two 32-bit words cleared) (section 2.6)
/// ```
/// They take a tenth of the time of OpenSSL's general AES-SIV, so it can be used for every request. The vectors hold
/// the bytes in memory order: byte 0 is the lowest byte of word 0 (little endian).
///
/// An object is used by one thread at a time: each shard has its own.
public final class SyntheticIV {
    private let authentication: BlockCipher
    private let encryption: BlockCipher
    /// CMAC(K1, 0) xor dbl(AES(K1, 0)), which depends only on the key.
    private let mask: SIMD2<UInt64>

    /// Sets the keys of the two ciphers: K1 is the first half of `key`, K2 the second (section 2.2).
    ///
    /// - Parameter key: 64 bytes (AES-256), or 32 (AES-128, the size of the RFC's examples).
    public init(key: [UInt8]) throws(CryptoError) {
        guard key.count == 64 || key.count == 32 else {
            throw CryptoError(.local, "A key for AES-SIV has 32 or 64 bytes, not \(key.count)")
        }
        authentication = BlockCipher(key: key[..<(key.count / 2)])
        encryption = BlockCipher(key: key[(key.count / 2)...])
        let subkey = Self.double(authentication.encrypt(SIMD2()))
        mask = authentication.encrypt(subkey) ^ subkey
    }

    /// Encrypts the plaintext: returns the synthetic IV V of 16 bytes, then the 16 bytes of the ciphertext C.
    public func seal(_ plaintext: SIMD2<UInt64>) -> SIMD4<UInt64> {
        let initial = authentication.encrypt(plaintext ^ mask)
        return SIMD4(lowHalf: initial, highHalf: plaintext ^ keyStream(initial))
    }

    /// Decrypts and verifies; nil if the bytes were not sealed with this key. It takes the same time in both cases.
    public func open(_ sealed: SIMD4<UInt64>) -> SIMD2<UInt64>? {
        let plaintext = sealed.highHalf ^ keyStream(sealed.lowHalf)
        let difference = authentication.encrypt(plaintext ^ mask) ^ sealed.lowHalf
        return difference[0] | difference[1] == 0 ? plaintext : nil
    }

    private func keyStream(_ initial: SIMD2<UInt64>) -> SIMD2<UInt64> {
        encryption.encrypt(initial & SIMD2(~0, ~0x0000_0080_0000_0080))
    }

    /// Multiplication by x in GF(2^128) of the bytes read as one big-endian number (section 2.3).
    private static func double(_ block: SIMD2<UInt64>) -> SIMD2<UInt64> {
        let high = block[0].byteSwapped
        let low = block[1].byteSwapped
        let reduced = low << 1 ^ (high >> 63) * 0x87
        return SIMD2((high << 1 | low >> 63).byteSwapped, reduced.byteSwapped)
    }
}

/// AES on single blocks: the owner of an `EVP_CIPHER_CTX` whose key is set once.
@safe private final class BlockCipher {
    private let pointer: OpaquePointer

    init(key: ArraySlice<UInt8>) {
        guard let pointer = unsafe EVP_CIPHER_CTX_new() else { preconditionFailure("out of memory") }
        unsafe self.pointer = pointer
        let algorithm = unsafe key.count == 32 ? EVP_aes_256_ecb() : EVP_aes_128_ecb()
        let status = unsafe key.withUnsafeBufferPointer {
            unsafe EVP_EncryptInit_ex(pointer, algorithm, nil, $0.baseAddress, nil)
        }
        precondition(status == 1, "OpenSSL's default provider has AES")
    }

    deinit { unsafe EVP_CIPHER_CTX_free(pointer) }

    func encrypt(_ block: SIMD2<UInt64>) -> SIMD2<UInt64> {
        var block = block
        var count: CInt = 0
        let status = unsafe withUnsafeMutableBytes(of: &block) {
            let start = unsafe $0.bindMemory(to: UInt8.self).baseAddress
            return unsafe EVP_EncryptUpdate(pointer, start, &count, start, 16)
        }
        precondition(status == 1 && count == 16, "AES of one block cannot fail")
        return block
    }
}
