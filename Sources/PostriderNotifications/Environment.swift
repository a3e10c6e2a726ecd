/// The two environments of APNs (Apple, "Sending notification requests to APNs"). Keys, device tokens and pushes of
/// one are not valid in the other.
public enum Environment: String, CaseIterable, Codable, Sendable {
    /// The environment of apps that users have installed.
    case production
    /// The environment of apps under development; Apple's sandbox.
    case development
}
