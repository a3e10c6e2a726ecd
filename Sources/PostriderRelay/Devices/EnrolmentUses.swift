import PostriderNotifications
import Synchronization

/// How often each enrolment key was used, as far as this relay knows, shared by all shards: what the store had, and
/// what was used here since. A use is taken before the device is stored, and given back if that fails. The store counts
/// it together with the device, over all nodes of a cluster, and has the last word.
final class EnrolmentUses: Sendable {
    /// The uses by the key's digest.
    private let counts: Mutex<[[UInt8]: Int]>

    init(_ keys: [EnrolmentKeyRecord]) {
        counts = Mutex(Dictionary(keys.map { ($0.digest, $0.used) }, uniquingKeysWith: { $1 }))
    }

    /// Takes a use. Returns false if the key has none left.
    func take(of key: EnrolmentKeyRecord) -> Bool {
        counts.withLock { counts in
            let count = counts[key.digest] ?? 0
            guard key.uses.map({ count < $0 }) ?? true else { return false }
            counts[key.digest] = count + 1
            return true
        }
    }

    /// Gives back the use of a device that could not be stored.
    func giveBack(_ digest: [UInt8]) {
        counts.withLock { counts in
            guard let count = counts[digest] else { return }
            counts[digest] = max(0, count - 1)
        }
    }

    /// The store says that the key has no uses left: other nodes of the cluster have used it, too.
    func useUp(_ key: EnrolmentKeyRecord) {
        var key = key
        key.used = key.uses ?? 0
        learn([key])
    }

    /// Takes over what the store knows, which has the uses at other nodes.
    func learn(_ keys: [EnrolmentKeyRecord]) {
        counts.withLock { counts in
            for key in keys where key.used > counts[key.digest] ?? 0 { counts[key.digest] = key.used }
        }
    }

    /// How often the key of this digest was used, including uses whose devices are being stored.
    func count(of digest: [UInt8]) -> Int { counts.withLock { $0[digest] ?? 0 } }

    /// A key was removed.
    func forget(_ key: EnrolmentKeyRecord) { counts.withLock { $0[key.digest] = nil } }
}

/// Logs once of each enrolment key that it will soon permit nothing more, and once that it does not.
struct EnrolmentKeyWarnings {
    /// What was logged about a key.
    private var told: [[UInt8]: Stage] = [:]

    private enum Stage: Comparable {
        case soon, over
    }

    /// Looks at all keys. A key is near its end within a week of it, or with a tenth of its uses left.
    mutating func look(at keys: [EnrolmentKeyRecord], _ uses: EnrolmentUses, now: Moment, _ log: Log) {
        told = told.filter { digest, _ in keys.contains { $0.digest == digest } }
        for key in keys {
            let left = key.uses.map { max(0, $0 - uses.count(of: key.digest)) }
            let milliseconds = key.endsAt.map { $0.milliseconds - now.milliseconds }
            let isOver = left == 0 || milliseconds.map { $0 <= 0 } ?? false
            let isNear =
                milliseconds.map { $0 <= 7 * 86_400_000 } ?? false
                || key.uses.map { uses in (left ?? 0) * 10 <= uses } ?? false
            guard isOver || isNear else { continue }
            let stage = isOver ? Stage.over : .soon
            guard told[key.digest].map({ $0 < stage }) ?? true else { continue }
            told[key.digest] = stage
            if isOver {
                log.warning("no device can enrol with the enrolment key \(key.name) any more")
            } else {
                let days = milliseconds.map { "in \($0 / 86_400_000) days" }
                let rest = left.map { "after \($0) more devices" }
                let end = [days, rest].compactMap(\.self).joined(separator: " or ")
                log.warning("the enrolment key \(key.name) ends \(end)")
            }
        }
    }
}
