import PostriderCourier
import PostriderNotifications

/// The keyboard on screen: where an input method has it goes in, what apps are told comes out. A machine: no clock, no
/// socket.
///
///     hidden ─▶ will change frame, will show ─ it moves ─▶ did change frame, did show ─▶ shown
///     shown ──▶ will change frame ─────────── it moves ─▶ did change frame ─▶ shown elsewhere
///     shown ──▶ will change frame, will hide ─ it moves ─▶ did change frame, did hide ─▶ hidden
///
/// A keyboard that takes another's place with the same frame is told nobody. Every "will" has its "did": a movement
/// that another one interrupts is told as done before that begins.
struct KeyboardState {
    /// Where the keyboard is, or moves to; nil: it is hidden, or hides.
    private(set) var frame: KeyboardFrame?
    /// What remains to be told of the present movement.
    private var remaining: [KeyboardChange] = []

    /// Whether the keyboard moves.
    var isMoving: Bool { !remaining.isEmpty }

    /// An input method moves its keyboard. The answer is what apps are told now; nothing where it is there already.
    /// When the time of the movement is over, the rest is told: ``arrive()``.
    mutating func move(_ order: KeyboardOrder) -> [KeyboardChange] {
        guard order.frame != frame else { return [] }
        let interrupted = arrive()
        guard let begin = frame ?? order.frame?.hidden, let end = order.frame ?? frame?.hidden else {
            return []
        }
        let (will, did): ([KeyboardChange.Phase], [KeyboardChange.Phase]) =
            if frame == nil {
                ([.willChangeFrame, .willShow], [.didChangeFrame, .didShow])
            } else if order.frame == nil {
                ([.willChangeFrame, .willHide], [.didChangeFrame, .didHide])
            } else {
                ([.willChangeFrame], [.didChangeFrame])
            }
        func told(_ phase: KeyboardChange.Phase) -> KeyboardChange {
            KeyboardChange(
                phase: phase, begin: begin, end: end, durationMilliseconds: order.durationMilliseconds,
                curve: order.curve)
        }
        frame = order.frame
        remaining = did.map(told)
        return interrupted + will.map(told) + (order.durationMilliseconds == 0 ? arrive() : [])
    }

    /// The keyboard is where it was to be.
    mutating func arrive() -> [KeyboardChange] {
        defer { remaining = [] }
        return remaining
    }
}

extension KeyboardFrame {
    /// Where a keyboard of this frame comes from and goes to: below, by its own height.
    var hidden: KeyboardFrame { KeyboardFrame(x: x, y: y + height, width: width, height: height) }

    /// Why it cannot be one on a screen, one sentence that names the field; nil if it can: it has a size, and no sum of
    /// its numbers overflows.
    var flaw: String? {
        let bound = Limits.keyboardPoints
        let fields = [
            ("x", x, -bound...bound), ("y", y, -bound...bound), ("width", width, 1...bound),
            ("height", height, 1...bound),
        ]
        guard let (name, value, range) = fields.first(where: { !$0.2.contains($0.1) }) else { return nil }
        return "frame.\(name): \(value) is outside of \(range.lowerBound) to \(range.upperBound)."
    }
}
