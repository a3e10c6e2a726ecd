import PostriderCrypto

/// A shard's source of numbers that must not be predictable: identities and secrets. A simulator has its own.
protocol RandomSource: AnyObject {
    /// 64 random bits.
    func next() -> UInt64
    /// This many random bytes.
    func bytes(_ count: Int) -> [UInt8]
}

extension Entropy: RandomSource {}
