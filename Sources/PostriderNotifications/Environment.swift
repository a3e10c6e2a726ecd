/// The two worlds of APNs, kept apart from the provider's key to the device token ("Sending notification
/// requests to APNs"): what is of one means nothing in the other.
public enum Environment: String, CaseIterable, Codable, Sendable {
    /// Apps as their users have them.
    case production
    /// Apps at their makers'; Apple's sandbox.
    case development
}
