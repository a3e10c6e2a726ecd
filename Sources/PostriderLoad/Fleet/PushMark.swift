import PostriderNotifications

/// What a push says of itself in its `apns-id`, so that whoever receives it knows all about it: a version 4 UUID to
/// everybody else (RFC 9562, section 5.4).
///
///     | 48 bits  | 4    | 12 bits      | 2    | 22 bits | 40 bits |
///     | moment   | 0100 | mark of run  | 10   | device  | number  |
struct PushMark: Hashable, Sendable {
    /// The moment from which its latency counts: nanoseconds since the run's start, which after 3.2 days begin again.
    let moment: UInt64
    /// Tells this run and this thread from others; 12 bits.
    let run: UInt16
    /// The device that it is for; ``everybody`` for a broadcast.
    let device: Int
    /// Its number within the thread.
    let number: UInt64

    /// In place of a device: a broadcast.
    static let everybody = 1 << 22 - 1

    private static let momentMask: UInt64 = 1 << 48 - 1
    /// As long as a step of a scenario may take, and an hour: beyond lies what is ahead.
    private static let longestAge = UInt64(LoadPlan.longestStepMilliseconds + 3_600_000) * 1_000_000
    private static let numberMask: UInt64 = 1 << 40 - 1

    init(moment: UInt64, run: UInt16, device: Int, number: UInt64) {
        self.moment = moment & Self.momentMask
        self.run = run & 0x0FFF
        self.device = device
        self.number = number & Self.numberMask
    }

    /// What an identity says; nil where it is none of these.
    init?(_ identity: NotificationIdentity) {
        guard identity.high >> 12 & 0xF == 4, identity.low >> 62 == 2 else { return nil }
        self.init(
            moment: identity.high >> 16, run: UInt16(identity.high & 0x0FFF),
            device: Int(identity.low >> 40 & 0x3F_FFFF), number: identity.low & Self.numberMask)
    }

    /// Nanoseconds from its moment to another one of the run, however long that goes on: right up to three days. None
    /// for a moment that is still ahead: it was set by another thread's clock.
    func age(at now: UInt64) -> UInt64 {
        let age = (now &- moment) & Self.momentMask
        return age < Self.longestAge ? age : 0
    }

    /// The identity.
    var identity: NotificationIdentity {
        NotificationIdentity(
            high: moment << 16 | 4 << 12 | UInt64(run),
            low: 2 << 62 | UInt64(device) << 40 | number)
    }

    /// Writes the 36 characters of the identity over what is in `text`: without an allocation.
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
