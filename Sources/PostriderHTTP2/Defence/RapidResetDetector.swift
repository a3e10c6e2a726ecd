/// Detects a peer most of whose streams are cut short: it opens requests and resets them at once, so that they are work
/// and never count as open (CVE-2023-44487, "rapid reset"), or it makes us reset them (CVE-2025-8671).
///
/// Resets of streams that have been answered, or were open for some time, do not count: apns4erl sends them. The counts
/// are halved from time to time, so that a long good history does not excuse an attack.
struct RapidResetDetector {
    private var opened = 0
    private var cutShort = 0
    private let judged: Int

    /// - Parameter judged: how many streams are opened before the peer is judged; 0 if it never is.
    init(after judged: Int) { self.judged = judged }

    /// A stream is opened.
    mutating func open() {
        opened += 1
        if opened >= 2 * judged {
            opened /= 2
            cutShort /= 2
        }
    }

    /// Counts a stream that was cut short. Returns false if most of several hundred were: the connection has to end.
    mutating func cut() -> Bool {
        cutShort += 1
        return judged == 0 || opened < judged || cutShort * 2 <= opened
    }
}
