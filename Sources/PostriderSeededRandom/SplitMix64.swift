/// A random number generator that returns the same numbers for the same seed, for runs that must be reproducible
/// (Steele, Lea and Flood, "Fast splittable pseudorandom number generators").
public struct SplitMix64: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// Creates a generator with a seed.
    public init(seed: UInt64) { state = seed }

    /// Returns the next number.
    public mutating func next() -> UInt64 {
        state &+= Self.step
        var word = state
        word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
        return word ^ word >> 31
    }

    /// The increment of the state with each number. A seed that is greater by it begins the same sequence one number
    /// later.
    public static let step: UInt64 = 0x9E37_79B9_7F4A_7C15
}
