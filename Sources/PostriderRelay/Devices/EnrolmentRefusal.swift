import PostriderCourier
import PostriderNotifications

/// Why a device is not enrolled.
enum EnrolmentRefusal: Error {
    case unknownKey
    case wrongTags
    case notDurable

    var status: GRPCStatus {
        switch self {
        case .unknownKey: .unauthenticated
        case .wrongTags: .invalidArgument
        case .notDurable: .unavailable
        }
    }

    var sentence: String {
        switch self {
        case .unknownKey: "The enrolment key is not known to this relay."
        case .wrongTags:
            "A device has at most \(Limits.tagsPerDevice) tags, each of \(DeviceTag.rule)."
        case .notDurable: "The relay cannot store the device now; try again."
        }
    }
}
