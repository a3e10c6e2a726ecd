import Glibc

/// How long an answer is held back: always the same, or drawn for each push.
public enum Delay: Sendable, Equatable {
    /// So many milliseconds.
    case fixed(Int)
    /// Any number of milliseconds between two, each as likely.
    case uniform(ClosedRange<Int>)
    /// Mostly short and sometimes long, with this mean in milliseconds (the exponential distribution).
    case exponential(mean: Int)
    /// Around a mean, in milliseconds (the normal distribution), and never below 0.
    case normal(mean: Int, deviation: Int)

    /// Milliseconds for one push; at most `most`.
    public func draw(from random: inout some RandomNumberGenerator, most: Int) -> Int {
        let milliseconds: Double
        switch self {
        case .fixed(let value): milliseconds = Double(value)
        case .uniform(let range): milliseconds = Double(Int.random(in: range, using: &random))
        case .exponential(let mean):
            milliseconds = -Double(mean) * log(1 - Double.random(in: 0..<1, using: &random))
        case .normal(let mean, let deviation):
            // Box and Muller, "A note on the generation of random normal deviates".
            let radius = (-2 * log(1 - Double.random(in: 0..<1, using: &random))).squareRoot()
            let angle = 2 * Double.pi * Double.random(in: 0..<1, using: &random)
            milliseconds = Double(mean) + Double(deviation) * radius * cos(angle)
        }
        return Int(max(0, min(milliseconds, Double(most))))
    }
}
