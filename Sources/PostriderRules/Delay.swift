import Glibc

/// How long an answer is delayed: a constant, or a random time for each push.
public enum Delay: Sendable, Equatable {
    /// A constant number of milliseconds.
    case fixed(Int)
    /// Uniformly distributed between two numbers of milliseconds.
    case uniform(ClosedRange<Int>)
    /// Exponentially distributed with this mean in milliseconds.
    case exponential(mean: Int)
    /// Normally distributed with this mean and standard deviation in milliseconds, but never below 0.
    case normal(mean: Int, deviation: Int)

    /// Draws the milliseconds for one push; at most `most`.
    public func draw(from random: inout some RandomNumberGenerator, most: Int) -> Int {
        let milliseconds: Double
        switch self {
        case .fixed(let value): milliseconds = Double(value)
        case .uniform(let range): milliseconds = Double(Int.random(in: range, using: &random))
        case .exponential(let mean):
            milliseconds = -Double(mean) * log(1 - Double.random(in: 0..<1, using: &random))
        case .normal(let mean, let deviation):
            // This is the Box-Muller transform ("A note on the generation of random normal deviates").
            let radius = (-2 * log(1 - Double.random(in: 0..<1, using: &random))).squareRoot()
            let angle = 2 * Double.pi * Double.random(in: 0..<1, using: &random)
            milliseconds = Double(mean) + Double(deviation) * radius * cos(angle)
        }
        return Int(max(0, min(milliseconds, Double(most))))
    }
}
