import PostriderClients
import PostriderCourier
import PostriderCrypto
import PostriderNotifications

/// The pauses between attempts to enrol or connect. They grow, and no two devices have the same.
struct LinkPauses {
    private let entropy: Entropy
    private var backoff = Backoff()
    /// The pauses after failures that last longer than a minute: the relay refuses the identity or the enrolment key.
    private var slowBackoff = Backoff(
        baseMilliseconds: Limits.refusedPauseMilliseconds.least,
        capMilliseconds: Limits.refusedPauseMilliseconds.most, stableMilliseconds: .max)

    /// The pause of the link while the disk refuses what arrives over it.
    static let storageMilliseconds = 5_000

    init(_ entropy: Entropy) { self.entropy = entropy }

    /// The pause before the next attempt, in milliseconds.
    mutating func next() -> Int {
        backoff.delayMilliseconds(afterLinkUp: 0, retryAfterMilliseconds: 0, random: entropy.next())
    }

    /// The pause after a refusal that an attempt soon after would meet again, in milliseconds.
    mutating func nextAfterRefusal() -> Int {
        slowBackoff.delayMilliseconds(afterLinkUp: 0, retryAfterMilliseconds: 0, random: entropy.next())
    }

    /// The device has slept: the next attempt comes soon.
    mutating func awake() { backoff = Backoff() }

    /// The relay has welcomed the device.
    mutating func welcomed() { slowBackoff.reset() }
}
