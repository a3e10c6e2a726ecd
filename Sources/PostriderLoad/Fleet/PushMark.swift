import PostriderNotifications

/// What the `apns-id` of a push encodes, so that its receiver needs nothing else to measure it. To everybody else it is
/// a version 4 UUID (RFC 9562, section 5.4).
///
///     | 48 bits  | 4    | 12 bits      | 2    | 22 bits | 40 bits |
///     | moment   | 0100 | mark of run  | 10   | device  | number  |
struct PushMark: Hashable, Sendable {
    /// The moment from which its latency counts: nanoseconds since the run's start. It wraps around after 3.2 days.
    let moment: UInt64
    /// Tells this run and this thread from others; 12 bits.
    let run: UInt16
    /// The device that the push is for; ``everybody`` for a broadcast.
    let device: Int
    /// The number of the push within its thread.
    let number: UInt64

    /// The value of `device` for a broadcast.
    static let everybody = 1 << 22 - 1

    private static let momentMask: UInt64 = 1 << 48 - 1
    /// The longest step of a scenario and an hour more. A larger difference means that the moment lies in the future.
    private static let longestAge = UInt64(LoadPlan.longestStepMilliseconds + 3_600_000) * 1_000_000
    private static let numberMask: UInt64 = 1 << 40 - 1

    init(moment: UInt64, run: UInt16, device: Int, number: UInt64) {
        self.moment = moment & Self.momentMask
        self.run = run & 0x0FFF
        self.device = device
        self.number = number & Self.numberMask
    }

    /// Decodes an `apns-id`; nil if it has another version or variant.
    init?(_ identity: NotificationIdentity) {
        guard identity.high >> 12 & 0xF == 4, identity.low >> 62 == 2 else { return nil }
        self.init(
            moment: identity.high >> 16, run: UInt16(identity.high & 0x0FFF),
            device: Int(identity.low >> 40 & 0x3F_FFFF), number: identity.low & Self.numberMask)
    }

    /// Nanoseconds from the push's moment to `now`, even if the moments have wrapped around in between, up to three
    /// days. 0 if the moment lies in the future, because another thread's clock set it.
    func age(at now: UInt64) -> UInt64 {
        let age = (now &- moment) & Self.momentMask
        return age < Self.longestAge ? age : 0
    }

    /// The `apns-id` that encodes the mark.
    var identity: NotificationIdentity {
        NotificationIdentity(
            high: moment << 16 | 4 << 12 | UInt64(run),
            low: 2 << 62 | UInt64(device) << 40 | number)
    }

    /// Writes the 36 characters of the `apns-id` over `text`, without an allocation.
    func write(into text: inout [UInt8]) {
        let identity = identity
        var position = 0
        for nibble in 0..<32 {
            if nibble == 8 || nibble == 12 || nibble == 16 || nibble == 20 {
                text[position] = UInt8(ascii: "-")
                position += 1
            }
            let word = nibble < 16 ? identity.high : identity.low
            text[position] = Hexadecimal.digit(UInt8(word >> UInt64(60 - nibble % 16 * 4) & 0x0F))
            position += 1
        }
    }
}
