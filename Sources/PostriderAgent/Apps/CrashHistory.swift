import PostriderCourier
import PostriderNotifications

/// How often an app has ended without having handled anything, and how long its next start waits for that: longer each
/// time, and very long in a crash loop.
struct CrashHistory {
    /// Whether it was found to end again and again for nothing.
    private(set) var isLooping = false
    private var backoff = CrashHistory.usualBackoff
    /// When it has ended for nothing, in milliseconds.
    private var exits: [Int] = []

    private static let usualBackoff = Backoff(
        baseMilliseconds: 1000, capMilliseconds: 60_000, stableMilliseconds: .max)

    /// The app has handled something.
    mutating func handled() { self = CrashHistory() }

    /// Somebody wants to use the app, whatever happened before. Its starts wait as long as they did.
    mutating func forgive() {
        exits = []
        isLooping = false
    }

    /// The app has ended for nothing. The answer is how many milliseconds its next start waits, and whether this is
    /// news of a crash loop.
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
