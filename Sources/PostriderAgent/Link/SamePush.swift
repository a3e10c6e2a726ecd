import PostriderCourier
import PostriderCrypto
import PostriderNotifications

/// A push by the two numbers under which the relay is told about it.
struct ReportedPush: Hashable {
    /// Its `apns-id`.
    let identity: NotificationIdentity
    /// The relay's number for it; 0 if the relay's version has none.
    let push: UInt64

    init(identity: NotificationIdentity, push: UInt64) {
        self.identity = identity
        self.push = push
    }

    /// Decodes what a row of the state holds.
    init?(bytes: [UInt8]) {
        guard bytes.count == NotificationIdentity.byteCount + 8,
            let identity = NotificationIdentity(bytes: Array(bytes.prefix(NotificationIdentity.byteCount)))
        else { return nil }
        self.init(
            identity: identity,
            push: bytes[NotificationIdentity.byteCount...].reduce(0) { $0 << 8 | UInt64($1) })
    }

    /// Encodes both for a row of the state.
    var bytes: [UInt8] {
        identity.bytes
            + stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: push >> UInt64($0)) }
    }
}

/// A push that was sent twice and is handed over once.
struct MergedPush: Equatable {
    /// The one that arrived later.
    let push: ReportedPush
    /// The relay's number for the one that is handed over.
    let other: UInt64
}

// Some providers use one `apns-id` for all of their pushes. So the agent compares the whole content of pushes, and
// gives each push of an app an identity of its own.
extension Deliver {
    /// A digest of everything that makes the push: `apns-id`, topic, channel, payload and every header but those of the
    /// trace context. It is stored on the disk, so what it covers must not change from one version to the next.
    var content: SHA256Digest {
        let latest = (channel == nil ? Limits.storedDays * 24 : Limits.broadcastStoredHours) * 60 * 60 * 1000
        let stated = expiration.stated(acceptedAt: acceptedAt, latestAfterMilliseconds: latest)
        var bytes: [UInt8] = []
        Deliver(
            delivery: 0, identity: apnsIdentity, topic: topic, payload: payload, priority: priority,
            expiration: stated ?? .at(.last), collapseIdentifier: collapseIdentifier, pushType: pushType,
            acceptedAt: Moment(milliseconds: 0), channel: channel
        ).encode(into: &bytes)
        return SHA256.digest(bytes.span)
    }

    /// The same push with an identity that is derived from its content: a UUID of version 8 (RFC 9562, 5.8).
    func renamed(by content: SHA256Digest) -> Deliver {
        Deliver(
            delivery: delivery,
            identity: NotificationIdentity(
                high: content.words[0] & 0xFFFF_FFFF_FFFF_0FFF | 0x8000,
                low: content.words[1] & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000),
            topic: topic, payload: payload, priority: priority, expiration: expiration,
            collapseIdentifier: collapseIdentifier, pushType: pushType, acceptedAt: acceptedAt,
            channel: channel, wantsReport: wantsReport, replacedIdentity: apnsIdentity, push: push,
            traceContext: traceContext)
    }
}
