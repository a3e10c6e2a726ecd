import PostriderCourier
import PostriderNotifications

/// How often an app has ended without handling anything, and how long its next start is delayed for that. The delays
/// grow, and are very long in a crash loop.
struct CrashHistory {
    /// Whether the app is in a crash loop.
    private(set) var isLooping = false
    private var backoff = CrashHistory.usualBackoff
    /// The moments, in milliseconds, at which it ended without handling anything.
    private var exits: [Int] = []

    private static let usualBackoff = Backoff(
        baseMilliseconds: 1000, capMilliseconds: 60_000, stableMilliseconds: .max)

    /// The app has handled something.
    mutating func handled() { self = CrashHistory() }

    /// Somebody wants to use the app: it leaves the crash loop, but the delays stay as long as they were.
    mutating func forgive() {
        exits = []
        isLooping = false
    }

    /// The app has ended without handling anything. Returns the delay of its next start in milliseconds, and whether it
    /// has just entered a crash loop.
    mutating func ended(at now: Int, random: UInt64) -> (delay: Int, isNews: Bool) {
        let wasLooping = isLooping
        let recent = exits.filter { now - $0 < Limits.crashLoopWindowMilliseconds } + [now]
        exits = recent.suffix(Limits.crashLoopExits)
        isLooping = exits.count >= Limits.crashLoopExits
        guard isLooping else {
            let delay = backoff.delayMilliseconds(afterLinkUp: 0, retryAfterMilliseconds: 0, random: random)
            return (delay, false)
        }
        let pause = Limits.crashLoopPauseMilliseconds
        return (pause + Int(random.multipliedFullWidth(by: UInt64(pause / 4)).high), !wasLooping)
    }
}
