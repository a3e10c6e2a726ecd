import FoundationEssentials
import PostriderCourier
import PostriderNotifications
import PostriderProviderAPI

/// Why a device is not enrolled.
enum EnrolmentRefusal: Error {
    case unknownKey
    /// The key has an end, which has passed.
    case ended(key: String, at: Moment)
    /// As many devices have enrolled with the key as may.
    case usedUp(key: String, uses: Int)
    /// The key is for devices of other names.
    case wrongName(key: String, pattern: String)
    case wrongTags
    /// The node has no partitions in its cluster, and so no devices.
    case servesNone
    case notDurable

    var status: GRPCStatus {
        switch self {
        case .unknownKey: .unauthenticated
        case .ended, .usedUp, .wrongName: .permissionDenied
        case .wrongTags: .invalidArgument
        case .servesNone, .notDurable: .unavailable
        }
    }

    /// The reason in a few words, for the log.
    var reason: String {
        switch self {
        case .unknownKey: "unknown key"
        case .ended(let key, _): "the enrolment key \(key) has ended"
        case .usedUp(let key, _): "the enrolment key \(key) is used up"
        case .wrongName(let key, _): "the enrolment key \(key) is for other names"
        case .wrongTags: "wrong tags"
        case .servesNone: "the node serves no devices at the moment"
        case .notDurable: "it cannot be stored"
        }
    }

    var sentence: String {
        switch self {
        case .unknownKey: "The enrolment key is not known to this relay."
        case .ended(let key, let end):
            "The enrolment key \(key) has ended at \(Self.time(end)): ask the operator for another one."
        case .usedUp(let key, let uses):
            "The enrolment key \(key) was for \(uses) devices, which have enrolled: ask for another one."
        case .wrongName(let key, let pattern):
            "The enrolment key \(key) is for devices whose names match '\(pattern)': set device-name."
        case .wrongTags:
            "A device has at most \(Limits.tagsPerDevice) tags, each of \(DeviceTag.rule)."
        case .servesNone: "This node of the relay's cluster serves no devices at the moment; try again."
        case .notDurable: "The relay cannot store the device now; try again."
        }
    }

    private static func time(_ moment: Moment) -> String {
        Date(timeIntervalSince1970: Double(moment.milliseconds) / 1000).formatted(.iso8601)
    }
}

extension ShardContext {
    /// A device could not be stored that wanted to enrol with the key of this digest, whose use is given back. Returns
    /// why.
    func refuseEnrolment(with digest: [UInt8], _ error: StoreError) -> EnrolmentRefusal {
        enrolmentUses.giveBack(digest)
        guard error.kind == .usedUp, let key = policy.enrolmentKeys.first(where: { $0.digest == digest })
        else { return .notDurable }
        enrolmentUses.useUp(key)
        return .usedUp(key: key.name, uses: key.uses ?? 0)
    }
}
