import PostriderCrypto

/// Where a shard draws what must not be guessed: identities, secrets. A simulator has its own.
protocol RandomSource: AnyObject {
    /// 64 random bits.
    func next() -> UInt64
    /// So many random bytes.
    func bytes(_ count: Int) -> [UInt8]
}

extension Entropy: RandomSource {}
