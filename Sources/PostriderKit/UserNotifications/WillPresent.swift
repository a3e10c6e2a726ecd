/// How an alert is presented. The raw values are those of Apple's `UNNotificationPresentationOptions`.
public struct NotificationPresentationOptions: OptionSet, Hashable, Sendable {
    /// The bits of the set.
    public let rawValue: UInt32
    /// Creates a set from its bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The number on the app's icon is set.
    public static let badge = NotificationPresentationOptions(rawValue: 1)
    /// The sound is played.
    public static let sound = NotificationPresentationOptions(rawValue: 2)
    /// The alert is shown, and stays in the desktop's list: ``banner`` and ``list``.
    public static let alert = NotificationPresentationOptions(rawValue: 4)
    /// The alert stays in the desktop's list.
    public static let list = NotificationPresentationOptions(rawValue: 8)
    /// The alert is shown.
    public static let banner = NotificationPresentationOptions(rawValue: 16)
}

extension UserNotificationCenter {
    /// Lets the application decide how its alerts are presented while it runs, like
    /// `userNotificationCenter(_:willPresent:)`. An empty set suppresses the alert. The closure is called on the
    /// queue of the observers and has three seconds; after that, an alert is presented in full.
    ///
    /// - Parameter decide: returns how to present the alert; if nil, the application no longer decides.
    /// - Throws: ``ApplicationError``.
    public func willPresent(
        _ decide: (@Sendable (ResponseDidArrive.Subject) -> NotificationPresentationOptions)?
    ) throws(ApplicationError) {
        try application.decidePresentation(decide)
    }
}
