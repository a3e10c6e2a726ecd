/// Judges a peer by the streams that are cut short (CVE-2023-44487, "rapid reset"): requests that it opens and resets
/// at once, so that they are work and never count as open, and streams that it makes us reset (CVE-2025-8671).
///
/// A peer that resets streams which have been answered, or after some time, is honest at any rate, as apns4erl is. The
/// counts fade, so that a long good past does not pay for a bad present.
struct RapidResetDetector {
    private var opened = 0
    private var cutShort = 0
    private let judged: Int

    /// Judges after this many streams; 0: never.
    init(after judged: Int) { self.judged = judged }

    /// A stream is opened.
    mutating func open() {
        opened += 1
        if opened >= 2 * judged {
            opened /= 2
            cutShort /= 2
        }
    }

    /// A stream is cut short. False: most of several hundred were, and the peer has to go.
    mutating func cut() -> Bool {
        cutShort += 1
        return judged == 0 || opened < judged || cutShort * 2 <= opened
    }
}
