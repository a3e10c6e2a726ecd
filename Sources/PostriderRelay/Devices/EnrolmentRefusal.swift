import PostriderCourier

/// Why a device is not enrolled.
enum EnrolmentRefusal: Error {
    case unknownKey
    case notDurable

    var status: GRPCStatus {
        switch self {
        case .unknownKey: .unauthenticated
        case .notDurable: .unavailable
        }
    }

    var sentence: String {
        switch self {
        case .unknownKey: "The enrolment key is not known to this relay."
        case .notDurable: "The relay cannot store the device now; try again."
        }
    }
}
