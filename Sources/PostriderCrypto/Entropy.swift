internal import CPostriderCrypto

/// Random numbers from OpenSSL's generator, which the kernel seeds. They are unpredictable, and suitable for
/// identities and keys.
///
/// Small numbers are taken from a batch, because requesting eight bytes costs as much as requesting thousands. An
/// object is used by one thread at a time: each shard has its own.
public final class Entropy {
    private var batch = [UInt64](repeating: 0, count: 512)
    private var position = 512

    /// Creates a source, which draws its first batch when it is needed.
    public init() {}

    /// The next 64 random bits.
    public func next() -> UInt64 {
        if position == batch.count {
            unsafe batch.withUnsafeMutableBytes { unsafe Self.fill($0) }
            position = 0
        }
        defer { position += 1 }
        return batch[position]
    }

    /// `count` random bytes that are drawn for this call and stored nowhere else, for keys and secrets.
    public func bytes(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        unsafe bytes.withUnsafeMutableBytes { unsafe Self.fill($0) }
        return bytes
    }

    private static func fill(_ bytes: UnsafeMutableRawBufferPointer) {
        let start = unsafe bytes.bindMemory(to: UInt8.self).baseAddress
        let status = unsafe RAND_bytes(start, CInt(bytes.count))
        precondition(status == 1, "without randomness nothing here is secret: better to stop")
    }
}
