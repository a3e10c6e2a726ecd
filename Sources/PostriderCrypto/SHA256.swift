internal import CPostriderCrypto

/// A SHA-256 digest: 32 bytes, stored as four words so that hashing and comparing it need no heap memory.
///
/// Comparison takes the same time wherever two digests differ, so a digest may stand for a secret.
public struct SHA256Digest: Hashable, Sendable {
    /// The bytes as four words; a word contains its eight bytes in memory order (little endian).
    public let words: SIMD4<UInt64>

    /// The number of bytes in a digest.
    public static let byteCount = 32

    /// Creates a digest from its four words.
    public init(words: SIMD4<UInt64>) { self.words = words }

    /// Creates a digest from its 32 bytes; nil if there are not exactly 32.
    public init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        var words = SIMD4<UInt64>()
        for (index, byte) in bytes.enumerated() { words[index / 8] |= UInt64(byte) << UInt64(index % 8 * 8) }
        self.words = words
    }

    /// The 32 bytes.
    public var bytes: [UInt8] {
        (0..<Self.byteCount).map { UInt8(truncatingIfNeeded: words[$0 / 8] >> UInt64($0 % 8 * 8)) }
    }

    /// Compares all 32 bytes, even if the first differ.
    public static func == (left: SHA256Digest, right: SHA256Digest) -> Bool {
        let difference = left.words ^ right.words
        return difference[0] | difference[1] | difference[2] | difference[3] == 0
    }
}

extension SHA256Digest: CustomStringConvertible {
    /// 64 lower-case hexadecimal digits.
    public var description: String {
        let digits = Array("0123456789abcdef".utf8)
        var text = [UInt8]()
        text.reserveCapacity(2 * Self.byteCount)
        for byte in bytes {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }
}

/// SHA-256 (FIPS 180-4) of bytes in memory.
public enum SHA256 {
    /// OpenSSL's implementation, fetched once, because fetching costs more than the digest of a short text. An
    /// `EVP_MD` is immutable once fetched and may be used on every thread.
    static let algorithm = MessageDigest("SHA256")

    /// The digest of `bytes`.
    public static func digest(_ bytes: Span<UInt8>) -> SHA256Digest { SHA256Hasher().digest(bytes) }
}

/// Computes SHA-256 digests one after the other, with one context of OpenSSL for all of them, because a new context
/// costs two allocations for each digest. It belongs to one thread.
@safe package struct SHA256Hasher: ~Copyable {
    private let context: OpaquePointer

    /// Creates a hasher.
    package init() {
        guard let context = unsafe EVP_MD_CTX_new() else { preconditionFailure("out of memory") }
        unsafe self.context = context
    }

    deinit { unsafe EVP_MD_CTX_free(context) }

    /// The digest of `bytes`.
    package borrowing func digest(_ bytes: Span<UInt8>) -> SHA256Digest {
        var words = SIMD4<UInt64>()
        let status = unsafe bytes.withUnsafeBufferPointer { input in
            unsafe withUnsafeMutableBytes(of: &words) { output in
                let start = unsafe output.bindMemory(to: UInt8.self).baseAddress
                guard unsafe EVP_DigestInit_ex2(context, SHA256.algorithm.pointer, nil) == 1,
                    unsafe EVP_DigestUpdate(context, input.baseAddress, input.count) == 1
                else { return CInt(0) }
                return unsafe EVP_DigestFinal_ex(context, start, nil)
            }
        }
        precondition(status == 1, "SHA-256 of bytes in memory cannot fail")
        return SHA256Digest(words: words)
    }
}

/// The owner of a digest algorithm that OpenSSL has fetched. It lives as long as the process.
@safe struct MessageDigest: Sendable {
    nonisolated(unsafe) let pointer: OpaquePointer

    /// - Parameter name: the name of the algorithm in OpenSSL's default provider.
    init(_ name: String) {
        guard let pointer = unsafe EVP_MD_fetch(nil, name, nil) else {
            preconditionFailure("OpenSSL's default provider has \(name)")
        }
        unsafe self.pointer = pointer
    }
}
