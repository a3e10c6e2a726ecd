/// The counters of a fleet. Adding them joins threads to a fleet; subtracting them makes phases out of moments.
struct LoadTally: Sendable, Equatable {
    /// Why a push arrived that should not have arrived here, or not again.
    enum Copy {
        /// The relay could not avoid it: the link was cut before the relay had the acknowledgement.
        case repeated
        /// The relay sent it twice by mistake.
        case doubled
        /// It was for another device, or was never sent.
        case strayed
    }

    /// Pushes sent.
    var sent: UInt64 = 0
    /// Pushes answered with 200.
    var accepted: UInt64 = 0
    /// Pushes answered with anything else, by reason.
    var refused: [String: UInt64] = [:]
    /// Pushes whose connection ended before the answer.
    var unanswered: UInt64 = 0
    /// Pushes that arrived at their devices, without broadcasts.
    var delivered: UInt64 = 0
    /// Copies that the protocol allows.
    var repeated: UInt64 = 0
    /// Copies that it does not allow.
    var doubled: UInt64 = 0
    /// Pushes that arrived at the wrong device, or were never sent.
    var strayed: UInt64 = 0
    /// Pushes that arrived with another payload than they were sent with.
    var altered: UInt64 = 0
    /// Pushes of other senders that arrived at devices with tags.
    var others: UInt64 = 0
    /// Broadcasts accepted.
    var broadcasts: UInt64 = 0
    /// Broadcasts that arrived at devices, counted once for each device.
    var broadcastsDelivered: UInt64 = 0
    /// Devices enrolled.
    var enrolments: UInt64 = 0
    /// Connections established, TLS included.
    var connections: UInt64 = 0
    /// Failed attempts to connect, by reason.
    var failures: [String: UInt64] = [:]
    /// Links that ended without the fleet's doing, by reason.
    var lostLinks: [String: UInt64] = [:]
    /// Bytes of HTTP/2 sent, before TLS.
    var bytesSent: UInt64 = 0
    /// Bytes of HTTP/2 received.
    var bytesReceived: UInt64 = 0

    /// Adds the counters of another thread.
    mutating func add(_ other: LoadTally) { combine(with: other) { $0 += $1 } }

    /// The difference to an earlier moment.
    func since(_ earlier: LoadTally) -> LoadTally {
        var difference = self
        difference.combine(with: earlier) { $0 -= $1 }
        return difference
    }

    private mutating func combine(with other: LoadTally, _ combine: (inout UInt64, UInt64) -> Void) {
        combine(&sent, other.sent)
        combine(&accepted, other.accepted)
        combine(&unanswered, other.unanswered)
        combine(&delivered, other.delivered)
        combine(&repeated, other.repeated)
        combine(&doubled, other.doubled)
        combine(&strayed, other.strayed)
        combine(&altered, other.altered)
        combine(&others, other.others)
        combine(&broadcasts, other.broadcasts)
        combine(&broadcastsDelivered, other.broadcastsDelivered)
        combine(&enrolments, other.enrolments)
        combine(&connections, other.connections)
        combine(&bytesSent, other.bytesSent)
        combine(&bytesReceived, other.bytesReceived)
        Self.combine(&refused, other.refused, combine)
        Self.combine(&failures, other.failures, combine)
        Self.combine(&lostLinks, other.lostLinks, combine)
    }

    private static func combine(
        _ mine: inout [String: UInt64], _ others: [String: UInt64], _ combine: (inout UInt64, UInt64) -> Void
    ) {
        for (reason, count) in others {
            var sum = mine[reason] ?? 0
            combine(&sum, count)
            mine[reason] = sum > 0 ? sum : nil
        }
    }

    /// The number of refused pushes.
    var refusedCount: UInt64 { refused.values.reduce(0, +) }
}

extension [String: UInt64] {
    /// Counts one more for a reason. Once there are 100 reasons, new ones count as `other`, so that a server that
    /// invents reasons cannot fill the memory.
    mutating func countReason(_ reason: String) {
        self[count < 100 || self[reason] != nil ? reason : "other", default: 0] += 1
    }
}

/// What a fleet has measured in one phase.
struct PhaseRecord: Sendable {
    /// The counters.
    var tally = LoadTally()
    /// Latencies from the moment of a push to its 200.
    var acceptance = LatencyHistogram()
    /// Latencies from the moment of a push to its arrival at the device.
    var delivery = LatencyHistogram()
    /// How long the phase lasted.
    var nanoseconds: UInt64 = 0

    /// Adds what another thread has measured in the same time.
    mutating func add(_ other: PhaseRecord) {
        tally.add(other.tally)
        acceptance.add(other.acceptance)
        delivery.add(other.delivery)
        nanoseconds = max(nanoseconds, other.nanoseconds)
    }
}

/// The device tokens of a thread's devices, as one string of hexadecimal digits.
struct Addressees {
    /// The digits of all tokens.
    private(set) var digits: [UInt8]
    let apps: Int
    let tokenDigits: Int
    /// Room for the tokens of this many devices.
    init(devices: Int, apps: Int, tokenDigits: Int) {
        self.apps = apps
        self.tokenDigits = tokenDigits
        digits = [UInt8](repeating: UInt8(ascii: "0"), count: devices * apps * tokenDigits)
    }

    /// Notes the token of an app on a device.
    mutating func set(_ token: Span<UInt8>, device: Int, app: Int) {
        let start = range(device: device, app: app).lowerBound
        for index in 0..<tokenDigits { digits[start + index] = token[index] }
    }

    /// The range of the digits of a token.
    func range(device: Int, app: Int) -> Range<Int> {
        let start = (device * apps + app) * tokenDigits
        return start..<start + tokenDigits
    }
}
