/// Numbers at random, the same for the same seed: what runs that are to be repeated draw from (Steele, Lea and Flood,
/// "Fast splittable pseudorandom number generators").
public struct SplitMix64: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// A sequence of numbers.
    public init(seed: UInt64) { state = seed }

    /// The next number.
    public mutating func next() -> UInt64 {
        state &+= Self.step
        var word = state
        word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
        return word ^ word >> 31
    }

    /// What the state grows by with each number: a seed that is greater by it begins the same sequence one number
    /// later.
    public static let step: UInt64 = 0x9E37_79B9_7F4A_7C15
}
