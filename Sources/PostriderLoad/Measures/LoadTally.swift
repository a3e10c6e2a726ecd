/// What a fleet has counted; sums and differences of these make threads into a fleet and moments into phases.
struct LoadTally: Sendable, Equatable {
    /// What a notification is that came before.
    enum Copy {
        /// The relay could not know better: the link was cut before it had the acknowledgement.
        case repeated
        /// A mistake.
        case doubled
        /// It was for somebody else, or for nobody.
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
    /// Pushes that came to their devices, broadcasts not counted.
    var delivered: UInt64 = 0
    /// Copies that the protocol allows.
    var repeated: UInt64 = 0
    /// Copies that it does not allow.
    var doubled: UInt64 = 0
    /// What came to the wrong device, or was never sent.
    var strayed: UInt64 = 0
    /// Payloads that are not what was sent.
    var altered: UInt64 = 0
    /// Broadcasts accepted.
    var broadcasts: UInt64 = 0
    /// Broadcasts that came to devices: one for each device.
    var broadcastsDelivered: UInt64 = 0
    /// Devices enrolled.
    var enrolments: UInt64 = 0
    /// Connections established, TLS included.
    var connections: UInt64 = 0
    /// Attempts that failed, by reason.
    var failures: [String: UInt64] = [:]
    /// Links that ended though nobody in the fleet wanted that, by reason.
    var lostLinks: [String: UInt64] = [:]
    /// Bytes of HTTP/2 sent, before TLS.
    var bytesSent: UInt64 = 0
    /// Bytes of HTTP/2 received.
    var bytesReceived: UInt64 = 0

    /// Adds what others have counted.
    mutating func add(_ other: LoadTally) { combine(with: other) { $0 += $1 } }

    /// What was counted since an earlier moment.
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

    /// All refusals.
    var refusedCount: UInt64 { refused.values.reduce(0, +) }
}

extension [String: UInt64] {
    /// Counts one for a reason. A server that makes words up is not to fill the memory: from 100 of them on, new ones
    /// count as `other`.
    mutating func countReason(_ reason: String) {
        self[count < 100 || self[reason] != nil ? reason : "other", default: 0] += 1
    }
}

/// What a fleet has measured in one phase.
struct PhaseRecord: Sendable {
    /// What it counted.
    var tally = LoadTally()
    /// From a push's moment to its 200.
    var acceptance = LatencyHistogram()
    /// From a push's moment to the device's having it.
    var delivery = LatencyHistogram()
    /// How long it lasted.
    var nanoseconds: UInt64 = 0

    /// Adds what another thread has measured meanwhile.
    mutating func add(_ other: PhaseRecord) {
        tally.add(other.tally)
        acceptance.add(other.acceptance)
        delivery.add(other.delivery)
        nanoseconds = max(nanoseconds, other.nanoseconds)
    }
}

/// The device tokens of a thread's devices, in hexadecimal digits one after the other.
struct Addressees {
    /// The digits of all tokens.
    private(set) var digits: [UInt8]
    let apps: Int
    let tokenDigits: Int
    /// Room for the tokens of so many devices.
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

    /// Where the digits of the token of an app on a device lie.
    func range(device: Int, app: Int) -> Range<Int> {
        let start = (device * apps + app) * tokenDigits
        return start..<start + tokenDigits
    }
}
