import PostriderCourier
import PostriderNotifications

/// The keyboard on screen: takes what an input method says about it, and returns what apps are told. A state machine:
/// no clock, no socket.
///
///     hidden ─▶ will change frame, will show ─ it moves ─▶ did change frame, did show ─▶ shown
///     shown ──▶ will change frame ─────────── it moves ─▶ did change frame ─▶ shown elsewhere
///     shown ──▶ will change frame, will hide ─ it moves ─▶ did change frame, did hide ─▶ hidden
///
/// Apps are not told of a keyboard that replaces another one with the same frame. Every "will" has its "did": before a
/// new movement begins, an unfinished one is reported as done.
struct KeyboardState {
    /// The frame of the keyboard, or the one that it moves to; nil if it is hidden or hides.
    private(set) var frame: KeyboardFrame?
    /// What apps are still to be told of the current movement.
    private var remaining: [KeyboardChange] = []

    /// Whether the keyboard moves.
    var isMoving: Bool { !remaining.isEmpty }

    /// An input method moves its keyboard. Returns what apps are told now; nothing if the keyboard is there already.
    /// When the movement is over, ``arrive()`` returns the rest.
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

    /// The movement of the keyboard is over.
    mutating func arrive() -> [KeyboardChange] {
        defer { remaining = [] }
        return remaining
    }
}

extension KeyboardFrame {
    /// The frame from which a keyboard appears, and to which it disappears: lower by its own height.
    var hidden: KeyboardFrame { KeyboardFrame(x: x, y: y + height, width: width, height: height) }

    /// Why this cannot be the frame of a keyboard, as one sentence that names the field; nil if it can: it has a size,
    /// and no sum of its numbers overflows.
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
